import type { Json } from "./json.ts";

/** Collects one section of the document's components, by name. */
export const componentsOf = (section: string) => {
  const components = new Map<string, Json>();
  /** Adds a component and returns a reference to it. The same component may be added again. */
  const add = (name: string, value: Json): Json => {
    const existing = components.get(name);
    if (existing && JSON.stringify(existing) !== JSON.stringify(value))
      throw new Error(`Two different ${section} are named ${name}.`);
    components.set(name, value);
    return { $ref: `#/components/${section}/${name}` };
  };
  const sorted = () => Object.fromEntries([...components].sort(([a], [b]) => a.localeCompare(b)));
  return { add, sorted };
};

export type Components = ReturnType<typeof componentsOf>;
