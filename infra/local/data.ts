import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod/mini";
import { Demo } from "./demo.ts";

/** Where a local stack stores its data between runs. */
export type Data = {
  readonly table: string;
  readonly files: string;
  readonly carts: string;
  /** The demo of an earlier run, whose key is shown nowhere else. */
  readonly readDemo: () => Demo | undefined;
  readonly keepDemo: (demo: Demo) => void;
  readonly close: () => void;
};

const read = (file: string): string | undefined => (existsSync(file) ? readFileSync(file, "utf8") : undefined);

const busy = 5;

/**
 * Takes the folder's lock: SQLite's on a file, which the system releases when the process ends, however it ends. A file
 * with a process id cannot do that: the id may be another process's by then, or in a container always the same.
 */
const lock = (folder: string): DatabaseSync => {
  const database = new DatabaseSync(join(folder, "lock.db"), { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    if (!(error instanceof Error && "errcode" in error && error.errcode === busy)) throw error;
    const holder = read(join(folder, "pid"));
    const who = holder ? `process ${holder}` : "another process";
    throw new Error(`The data in ${folder} is in use by ${who}: stop it, or name another folder.`);
  }
};

/** No other user of this machine may read customers' data, even if an older version made them readable. */
const makePrivate = (path: string) => {
  if (existsSync(path)) chmodSync(path, statSync(path).isDirectory() ? 0o700 : 0o600);
};

const parseDemo = (file: string, text: string): Demo => {
  try {
    return z.parse(Demo, JSON.parse(text));
  } catch {
    throw new Error(`${file} is damaged: delete it, and the next start makes a new demo customer beside your data.`);
  }
};

/** Opens a folder for one stack at a time, because the embedded DynamoDB would accept a second one. Throws if it is in use. */
export const openData = (folder: string): Data => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const held = lock(folder);
  const [pidFile, demoFile] = [join(folder, "pid"), join(folder, "demo.json")];
  const [table, files, carts] = [join(folder, "table.db"), join(folder, "files"), join(folder, "carts")];
  // A folder that has data of ours in it is ours.
  const paths = [table, `${table}-wal`, `${table}-shm`, files, carts, demoFile, pidFile, join(folder, "lock.db")];
  for (const path of existsSync(table) ? [folder, ...paths] : paths) makePrivate(path);
  writeFileSync(pidFile, String(process.pid), { mode: 0o600 });
  return {
    table,
    files,
    carts,
    readDemo: () => {
      const kept = read(demoFile);
      return kept === undefined ? undefined : parseDemo(demoFile, kept);
    },
    keepDemo: (demo) => writeFileSync(demoFile, JSON.stringify(demo), { mode: 0o600 }),
    close: () => held.close(),
  };
};
