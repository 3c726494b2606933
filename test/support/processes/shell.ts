import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

const cwd = join(import.meta.dirname, "../../..");

/** Runs a script in bash, in the project's folder. `onLine` is called with each line that it prints. */
export const runScript = async (script: string, env: NodeJS.ProcessEnv, onLine = async (_: string) => {}) => {
  // If its input is a socket and SHLVL is unset, as in cron, bash assumes that it is a remote shell and reads its rc files.
  const shell = spawn("bash", ["--norc", "-euo", "pipefail", "-c", script], { cwd, env });
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

type Options = { readonly input?: string; readonly env?: Readonly<Record<string, string>> };

/** Runs Node with these arguments, in the project's folder. */
export const runNode = async (args: readonly string[], { input = "", env = {} }: Options = {}) => {
  const child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...env } });
  const exit = once(child, "close");
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { stdout, stderr, code };
};
