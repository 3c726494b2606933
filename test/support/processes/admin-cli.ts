import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const root = join(import.meta.dirname, "../../..");

/** Runs the operators' CLI in a separate process, as its users do. */
export const admin = async (
  args: readonly string[],
  { input = "", env = {} }: { input?: string; env?: Record<string, string> } = {},
) => {
  const child = spawn(process.execPath, [join(root, "infra/admin/admin.ts"), ...args], {
    env: { ...process.env, ...env },
  });
  child.stdin.end(input);
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { stdout, stderr, code };
};

/** Runs a command that must succeed, and returns its JSON. */
export const adminJson = async (args: readonly string[], input = "") => {
  const { stdout, stderr, code } = await admin(args, { input });
  if (code !== 0) throw new Error(`admin ${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout);
};
