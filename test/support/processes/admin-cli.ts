import { runNode } from "./shell.ts";

/** Runs the operators' CLI in a separate process, as its users do. */
export const admin = (args: readonly string[], options?: Parameters<typeof runNode>[1]) =>
  runNode(["infra/admin/admin.ts", ...args], options);

/** Runs a command that must succeed, and returns its JSON. */
export const adminJson = async (args: readonly string[], input = "") => {
  const { stdout, stderr, code } = await admin(args, { input });
  if (code !== 0) throw new Error(`admin ${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout);
};
