import { runNode } from "./shell.ts";

/** Runs the operators' CLI in a separate process, as its users do. */
export const admin = (args: readonly string[], options?: Parameters<typeof runNode>[1]) =>
  runNode(["infra/admin/admin.ts", ...args], options);

/** Returns a function that runs a command with --json, which must succeed, and returns the printed JSON. */
export const jsonOf =
  (run: typeof admin) =>
  async (args: readonly string[], input = "") => {
    const { stdout, stderr, code } = await run([...args, "--json"], { input });
    if (code !== 0) throw new Error(`admin ${args.join(" ")}: ${stdout}${stderr}`);
    return JSON.parse(stdout);
  };

export const adminJson = jsonOf(admin);
