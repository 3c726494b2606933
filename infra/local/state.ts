import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { makeFolder } from "./make-folder.ts";

/** Each running local stack has a file with its addresses in this folder, by which `npm run admin` finds it. */
const folder = () => process.env.PATCHBAY_STATE ?? join(import.meta.dirname, "../../.patchbay");

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

const fileOf = (port: number) => join(folder(), `${port}.json`);

export const writeState = (state: State): void => {
  makeFolder(folder(), 0o700);
  rmSync(fileOf(state.port), { force: true });
  writeFileSync(fileOf(state.port), JSON.stringify(state), { mode: 0o600 });
};

export const removeState = (port: number): void => rmSync(fileOf(port), { force: true });

const isAlive = ({ pid }: State): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const readState = (file: string): State[] => {
  try {
    const state = z.parse(State, JSON.parse(readFileSync(join(folder(), file), "utf8")));
    return isAlive(state) ? [state] : [];
  } catch {
    return [];
  }
};

const stateFiles = (): string[] => {
  try {
    return readdirSync(folder()).filter((file) => /^\d+\.json$/.test(file));
  } catch {
    return [];
  }
};

/** The running local stacks, sorted by port. */
export const runningStacks = (): State[] =>
  stateFiles()
    .flatMap(readState)
    .sort((a, b) => a.port - b.port);
