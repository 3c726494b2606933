import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";

/** Where a running local stack says how to reach it, so that `npm run admin` finds it: one small file for each port, in PATCHBAY_STATE or the project. */
const folder = () => process.env.PATCHBAY_STATE ?? join(import.meta.dirname, "../../.patchbay");

const State = z.object({
  pid: z.number(),
  url: z.string(),
  port: z.number(),
  /** What a process needs in its environment to work on this stack. */
  environment: z.record(z.string(), z.string()),
  /** The demo's key and ids, by the names that the examples call them. */
  demo: z.record(z.string(), z.string()),
  startedAt: z.string(),
});
export type State = z.infer<typeof State>;

const fileOf = (port: number) => join(folder(), `${port}.json`);

export const writeState = (state: State): void => {
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  rmSync(fileOf(state.port), { force: true });
  writeFileSync(fileOf(state.port), JSON.stringify(state), { mode: 0o600 });
};

export const removeState = (port: number): void => rmSync(fileOf(port), { force: true });

const alive = ({ pid }: State): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const readState = (file: string): State[] => {
  try {
    const state = z.parse(State, JSON.parse(readFileSync(join(folder(), file), "utf8")));
    return alive(state) ? [state] : [];
  } catch {
    return [];
  }
};

const listed = (): string[] => {
  try {
    return readdirSync(folder()).filter((file) => /^\d+\.json$/.test(file));
  } catch {
    return [];
  }
};

/** The local stacks that are running, by port. */
export const runningStacks = (): State[] =>
  listed()
    .flatMap(readState)
    .sort((a, b) => a.port - b.port);
