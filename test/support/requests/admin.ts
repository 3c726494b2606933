import { Readable } from "node:stream";
import { format } from "node:util";
import { runCommand } from "../../../infra/admin/program.ts";
import { jsonOf } from "../processes/admin-cli.ts";

let isRunning = false;

/**
 * Makes a command read `input` and write into `output` instead of this process's streams, with `env` in its environment. Returns a
 * function that restores everything.
 */
const redirect = (
  input: Readable,
  env: Readonly<Record<string, string>>,
  output: { stdout: string; stderr: string },
) => {
  const { exitCode } = process;
  const environment = { ...process.env };
  const stdin = Object.getOwnPropertyDescriptor(process, "stdin") ?? {};
  const { log, error } = console;
  const writes = { stdout: process.stdout.write, stderr: process.stderr.write };
  const writeTo = (name: "stdout" | "stderr") => (text: string | Uint8Array) => {
    output[name] += String(text);
    return true;
  };
  process.exitCode = undefined;
  // Simulates a wide terminal unless a test chooses a width.
  Object.assign(process.env, { COLUMNS: "1000", ...environment, ...env });
  Object.defineProperty(process, "stdin", { value: input, configurable: true });
  process.stdout.write = writeTo("stdout");
  process.stderr.write = writeTo("stderr");
  console.log = (...values: unknown[]) => writeTo("stdout")(`${format(...values)}\n`);
  console.error = (...values: unknown[]) => writeTo("stderr")(`${format(...values)}\n`);
  return () => {
    const code = Number(process.exitCode ?? 0);
    process.exitCode = exitCode;
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, environment);
    Object.defineProperty(process, "stdin", stdin);
    Object.assign(process.stdout, { write: writes.stdout });
    Object.assign(process.stderr, { write: writes.stderr });
    Object.assign(console, { log, error });
    return code;
  };
};

type Options = {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the input comes from a terminal, where commands ask for confirmation. */
  readonly isTerminal?: boolean;
  /** The folder in which the operator stands. */
  readonly cwd?: string;
};

/**
 * Runs a command of the operators' CLI in this process, ten times as fast as in a separate one. Only one command can run at a time,
 * with the tests' DynamoDB client. `processes/admin-cli.ts` runs commands as users do.
 */
export const admin = async (args: readonly string[], options: Options = {}) => {
  const { input = "", env = {}, isTerminal = false, cwd } = options;
  if (isRunning) throw new Error("A command is running in this process: run one of the two in its own process.");
  isRunning = true;
  const output = { stdout: "", stderr: "" };
  const restore = redirect(Object.assign(Readable.from([input]), { isTTY: isTerminal }), env, output);
  let code = 0;
  const folder = process.cwd();
  try {
    if (cwd) process.chdir(cwd);
    await runCommand(args);
  } finally {
    process.chdir(folder);
    code = restore();
    isRunning = false;
  }
  return { ...output, code };
};

export const adminJson = jsonOf(admin);
