import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { readJsonFile, writeJson } from "./json-file.ts";

/** The folder with the addresses of running local stacks and of deployments to emulators. */
export const stateFolder = () => process.env.PATCHBAY_STATE || join(import.meta.dirname, "../../.patchbay");

export const writeStateFile = (name: string, content: object): void => {
  try {
    writeJson(join(stateFolder(), name), content);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : cause;
    const message = `Addresses cannot be stored in ${stateFolder()} (${reason}): set PATCHBAY_STATE to another folder.`;
    throw new Error(message, { cause });
  }
};

/** Each running local stack has a file with its addresses, by which `./patchbay` finds it. */
const State = z.object({
  pid: z.number(),
  url: z.string(),
  port: z.number(),
  /** The environment variables for working on this stack. */
  environment: z.record(z.string(), z.string()),
  /** The demo's key and ids, by their names in the examples. */
  demo: z.record(z.string(), z.string()),
  startedAt: z.string(),
});
export type State = z.infer<typeof State>;

const nameOf = (port: number) => `${port}.json`;

export const writeState = (state: State): void => writeStateFile(nameOf(state.port), state);

export const removeState = (port: number): void => rmSync(join(stateFolder(), nameOf(port)), { force: true });

const isAlive = ({ pid }: State): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

export const runningStacks = (): State[] =>
  (existsSync(stateFolder()) ? readdirSync(stateFolder()) : [])
    .filter((file) => /^\d+\.json$/.test(file))
    .flatMap((file) => readJsonFile(State, join(stateFolder(), file)) ?? [])
    .filter(isAlive)
    .sort((a, b) => a.port - b.port);

export const newSecret = (): string => randomBytes(32).toString("base64url");

/** How long a session of the console lasts. This is a working day. */
export const sessionMs = 12 * 60 * 60 * 1_000;
const Session = z.object({ session: z.string(), until: z.number() });

/**
 * Returns the session of the console on a port. A chosen port keeps its session for a working day, in a file that only the operator
 * can read. So the browser's cookie, and with it a bookmark, outlives the process, and no address contains a secret.
 */
export const sessionOf = (port: number): string => {
  const name = `console-${port}.json`;
  const stored = port === 0 ? undefined : readJsonFile(Session, join(stateFolder(), name));
  if (stored && stored.until > Date.now()) return stored.session;
  const session = newSecret();
  if (port !== 0) writeStateFile(name, { session, until: Date.now() + sessionMs });
  return session;
};
