import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { Demo } from "./demo.ts";

/** Where a local stack keeps its data between runs. */
export type Data = {
  readonly table: string;
  readonly files: string;
  /** The demo of an earlier run, whose key is shown nowhere else. */
  readonly readDemo: () => Demo | undefined;
  readonly keepDemo: (demo: Demo) => void;
  readonly close: () => void;
};

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Opens a folder for one stack at a time: the embedded DynamoDB would not refuse a second. Throws where one is there. */
export const openData = (folder: string): Data => {
  mkdirSync(folder, { recursive: true });
  const [lock, demoFile] = [join(folder, "pid"), join(folder, "demo.json")];
  const holder = Number(read(lock));
  if (holder > 0 && isAlive(holder))
    throw new Error(`The data in ${folder} is in use by process ${holder}: stop it, or name another folder.`);
  writeFileSync(lock, String(process.pid));
  return {
    table: join(folder, "table.db"),
    files: join(folder, "files"),
    readDemo: () => {
      const kept = read(demoFile);
      return kept === undefined ? undefined : z.parse(Demo, JSON.parse(kept));
    },
    keepDemo: (demo) => writeFileSync(demoFile, JSON.stringify(demo), { mode: 0o600 }),
    close: () => rmSync(lock, { force: true }),
  };
};
