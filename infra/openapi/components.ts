import type { Json } from "./json.ts";

/** One section of the components: what several operations refer to, each under a name of its own. */
export const componentsOf = (section: string) => {
  const found = new Map<string, Json>();
  /** Adds a component and returns a reference to it. The same component may be added again. */
  const add = (name: string, value: Json): Json => {
    const known = found.get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(value)) throw new Error(`Two ${section} are named ${name}.`);
    found.set(name, value);
    return { $ref: `#/components/${section}/${name}` };
  };
  const sorted = () => Object.fromEntries([...found].sort(([a], [b]) => a.localeCompare(b)));
  return { add, sorted };
};

export type Components = ReturnType<typeof componentsOf>;
