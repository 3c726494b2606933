import { resolve } from "node:path";

/** Prints the error and exits. The embedded services stop with this process. */
export const fail = (error: unknown): never => {
  const message = error instanceof Error ? error.message : String(error);
  const inUse = error instanceof Error && "code" in error && error.code === "EADDRINUSE" && "port" in error;
  console.error(inUse ? `Port ${error.port} is in use: pass another --port, or 0 for any free port.` : message);
  process.exit(1);
};

/** Resolves a path from the folder in which the user stands. npm changes to the project's folder, and keeps the user's in INIT_CWD. */
export const fromCaller = (path: string): string =>
  resolve((process.env.npm_lifecycle_event && process.env.INIT_CWD) || process.cwd(), path);

export const portOf = (value: string): number => {
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
  throw new Error(`The port must be a number from 0 to 65535, not ${value}.`);
};
