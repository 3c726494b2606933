import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = join(import.meta.dirname, "../..");

/** Runs `cdk`. If it fails, exits with its status. Windows cannot spawn the script in `.bin`. */
export const cdk = (args: readonly string[], cwd = root): void => {
  const bin = fileURLToPath(import.meta.resolve("aws-cdk/bin/cdk"));
  const { status } = spawnSync(process.execPath, [bin, ...args], { cwd, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
};

/** Reads the options that a command itself needs. All arguments are passed on to `cdk`. */
export const readArguments = (args: readonly string[]) => {
  const { values } = parseArgs({
    args: [...args],
    strict: false,
    options: {
      context: { type: "string", short: "c", multiple: true },
      profile: { type: "string" },
      force: { type: "boolean", short: "f" },
      help: { type: "boolean", short: "h" },
    },
  });
  const assignments = (values.context ?? []).map((each) => /^(\w+)=(.*)$/.exec(String(each)) ?? []);
  return { ...values, context: Object.fromEntries(assignments.map(([, name = "", value]) => [name, value])) };
};
