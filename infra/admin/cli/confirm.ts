import { createInterface } from "node:readline/promises";
import { CommandError, UsageError } from "./command-errors.ts";
import { safe } from "./output.ts";

/** Asks on the terminal, and throws unless the answer is yes. */
export const ask = async (question: string): Promise<void> => {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${safe(question)} [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("Nothing was changed.");
};

/** Asks for confirmation on a terminal, unless `--yes` is given. A script is not asked. */
export const askUnless = async (yes: boolean | undefined, question: string): Promise<void> => {
  if (!yes && process.stdin.isTTY) await ask(question);
};

/** Asks for confirmation, because a customer may lose something. Without a terminal, `--yes` is required. */
export const confirm = async (question: string): Promise<void> => {
  if (!process.stdin.isTTY) throw new UsageError(`${question} Not a terminal: confirm with --yes.`);
  await ask(question);
};
