import { resolve } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";

/** An error in how a program is used. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError";
}

/**
 * Parses the arguments of a program. Prints `help` for --help, and exits. For other arguments than it has, prints the error and
 * `help`, and exits with 2.
 */
export const parseArguments = <C extends ParseArgsConfig>(help: string, config: C): ReturnType<typeof parseArgs<C>> => {
  if ((config.args ?? process.argv.slice(2)).some((one) => one === "--help" || one === "-h")) {
    process.stdout.write(`${help}\n`);
    process.exit();
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return fail(new ArgumentError(`${error instanceof Error ? error.message : error}\n\n${help}`, { cause: error }));
  }
};

/** Prints the error and exits, with 2 for wrong arguments. The embedded services stop with this process. */
export const fail = (error: unknown): never => {
  const message = error instanceof Error ? error.message : String(error);
  const inUse = error instanceof Error && "code" in error && error.code === "EADDRINUSE" && "port" in error;
  console.error(inUse ? `Port ${error.port} is in use: pass another --port, or 0 for any free port.` : message);
  process.exit(error instanceof ArgumentError ? 2 : 1);
};

/** Resolves a path from the folder in which the user stands. npm changes to the project's folder, and keeps the user's in INIT_CWD. */
export const fromCaller = (path: string): string =>
  resolve((process.env.npm_lifecycle_event && process.env.INIT_CWD) || process.cwd(), path);

export const portOf = (value: string): number => {
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
  throw new ArgumentError(`The port must be a number from 0 to 65535, not ${value}.`);
};
