import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";

/** Returns an argument or, for `-`, the text in standard input. An API key as an argument would stay in the shell's history. */
export const argumentOrInput = async (argument: string): Promise<string> => {
  if (argument !== "-") return argument;
  const input = process.stdin;
  if (!input.isTTY) return (await text(input)).trim();
  const terminal = createInterface({ input, output: process.stderr });
  const answer = await terminal.question("API key: ");
  terminal.close();
  return answer.trim();
};
