import { expect } from "vitest";

/** The result of a command that exits with `code` and prints only this, to stderr. */
export const failure = (code: number, message: string | RegExp) => ({
  code,
  stdout: "",
  stderr: typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message),
});
