import { createInterface } from "node:readline/promises";
import { CommandError } from "./command-error.ts";
import { safe } from "./output.ts";

/** Asks before anything that cannot be undone. Without a terminal, `--yes` is required. */
export const confirmed = async (question: string, yes = false): Promise<void> => {
  if (yes) return;
  if (!process.stdin.isTTY) throw new CommandError(`${question} Say so with --yes: there is no terminal to ask on.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${safe(question)} [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("Nothing was changed.");
};
