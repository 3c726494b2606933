import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const program = join(import.meta.dirname, "../../../infra/admin/admin.ts");

type When = { readonly ms: number; readonly since?: () => boolean; readonly env?: Readonly<Record<string, string>> };

/** Runs a command in a process of its own, and kills it some time after `since`. Returns whether it was still running. */
export const killedAfter = async (args: readonly string[], { ms, since = () => true, env }: When): Promise<boolean> => {
  const child = spawn(process.execPath, [program, ...args], { stdio: "ignore", env: { ...process.env, ...env } });
  const ended = once(child, "exit");
  while (child.exitCode === null && !since()) await new Promise(setImmediate);
  await Promise.race([ended, sleep(ms)]);
  const isRunning = child.exitCode === null;
  child.kill("SIGKILL");
  await ended;
  return isRunning;
};
