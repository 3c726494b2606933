import { parseUlid } from "../../shared/schema/fields.ts";

/** What the options and arguments of several commands have in common. */

/** The option of every command that prints something. `program.ts` adds it. */
export type Output = { readonly json?: boolean };

/** An id, given in upper or lower case. Any other text is left as it is: nothing has it as its id. */
export const parseId = (text: string): string => parseUlid(text) ?? text;

/** For options that may be given more than once. */
export const collect = (value: string, all: readonly string[] = []) => [...all, value];
