import { createInterface } from "node:readline/promises";
import { CommandError } from "./command-errors.ts";
import { safe } from "./output.ts";

/** Asks on the terminal for confirmation. */
export const confirm = async (question: string): Promise<void> => {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${safe(question)} [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("Nothing was changed.");
};
