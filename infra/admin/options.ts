import { parseUlid } from "../../shared/schema/fields.ts";

/** The option of every command. `program.ts` adds it. */
export type Output = { readonly json?: boolean };

/** Converts an id to upper case. Any other text is returned unchanged: no item has it as its id. */
export const parseId = (text: string): string => parseUlid(text) ?? text;

/** Collects the values of an option that may be repeated. */
export const collect = (value: string, all: readonly string[] = []) => [...all, value];
