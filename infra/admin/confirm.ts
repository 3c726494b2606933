import { createInterface } from "node:readline/promises";
import { CommandError } from "./command-error.ts";
import { safe } from "./output.ts";

/** Asks for confirmation of a change that cannot be undone. Without a terminal, `--yes` is required. */
export const confirm = async (question: string, yes = false): Promise<void> => {
  if (yes) return;
  if (!process.stdin.isTTY) throw new CommandError(`${question} There is no terminal to ask on: confirm with --yes.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${safe(question)} [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("Nothing was changed.");
};
