import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ArgumentError } from "../local/command.ts";

const root = join(import.meta.dirname, "../..");

/** Windows cannot spawn the script in `.bin`. */
const bin = fileURLToPath(import.meta.resolve("aws-cdk/bin/cdk"));

/** Runs `cdk`. If it fails, exits with its status. */
export const cdk = (args: readonly string[], cwd = root): void => {
  const { status } = spawnSync(process.execPath, [bin, ...args], { cwd, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
};

/** `cdk` ignores options that it does not have. With `--stage production`, it would deploy or delete the sandbox. */
export const requireKnownOptions = (script: string, args: readonly string[]): void => {
  const names = args.flatMap((one) => /^(--\w[\w-]*|-\w)/.exec(one)?.[0] ?? []);
  if (names.length === 0) return;
  const command = script === "deploy-local" ? "deploy" : script;
  const { stdout } = spawnSync(process.execPath, [bin, command, "--help"], { encoding: "utf8" });
  const known = new Set(stdout.match(/(?<!\S)--?\w[\w-]*/g));
  const unknown = names.find((name) => !known.has(name) && !known.has(name.replace(/^--no-/, "--")));
  if (unknown)
    throw new ArgumentError(`Unknown option '${unknown}'. To list the options, run ./patchbay ${script} --help.`);
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
