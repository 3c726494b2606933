/** Creates one thing by `apply`, and answers its id (and, for a key, the key itself). */
export const make = async (section: "accounts" | "users" | "keys" | "orders" | "requests", entry: object) => {
  const { apply } = await import("../../shared/tenants/apply.ts");
  const made = await apply({ [section]: { new: entry } });
  return made[section].new ?? {};
};

/** For options that may be given more than once. */
export const collect = (value: string, all: readonly string[] = []) => [...all, value];

/** The options that every command has. */
export type Output = { readonly json?: boolean };
