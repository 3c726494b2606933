import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

const cwd = join(import.meta.dirname, "../../..");

/** Runs a script in bash, in the project's folder. `onLine` is called with each line that it prints. */
export const runScript = async (script: string, env: NodeJS.ProcessEnv, onLine = async (_: string) => {}) => {
  const shell = spawn("bash", ["-euo", "pipefail", "-c", script], { cwd, env });
  const exit = once(shell, "close");
  const errors = text(shell.stderr);
  let output = "";
  for await (const line of createInterface({ input: shell.stdout })) {
    output += `${line}\n`;
    await onLine(line);
  }
  const [code] = await exit;
  return { output, errors: await errors, code };
};
