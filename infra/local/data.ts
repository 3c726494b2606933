import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod/mini";
import { Demo } from "./demo.ts";
import { makeFolder } from "./make-folder.ts";

/** Where a local stack stores its data between runs. */
export type Data = {
  readonly table: string;
  readonly files: string;
  readonly carts: string;
  readonly events: string;
  /** The demo of an earlier run. Its key is stored nowhere else. */
  readonly readDemo: () => Demo | undefined;
  readonly saveDemo: (demo: Demo) => void;
  readonly close: () => void;
};

const read = (file: string): string | undefined => (existsSync(file) ? readFileSync(file, "utf8") : undefined);

/** SQLITE_BUSY: https://www.sqlite.org/rescode.html#busy */
const busy = 5;

/**
 * Locks the folder with SQLite's lock on a file, which the operating system releases when the process ends, even after a
 * crash. A file with a process id is not enough: another process may get the same id, and in a container always does.
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
    throw new Error(`The data in ${folder} is in use by ${who}: stop it, or choose another folder.`);
  }
};

/** Other users of this machine must not read customer data, even in a folder that an older version left readable. */
const makePrivate = (path: string) => {
  if (existsSync(path)) chmodSync(path, statSync(path).isDirectory() ? 0o700 : 0o600);
};

const parseDemo = (file: string, text: string): Demo => {
  try {
    return z.parse(Demo, JSON.parse(text));
  } catch {
    throw new Error(`${file} is damaged: delete it, and the next start creates a new demo customer beside your data.`);
  }
};

/** Opens and locks a folder, because the embedded DynamoDB does not prevent a second use. Throws if it is in use. */
export const openData = (folder: string): Data => {
  try {
    return open(folder);
  } catch (error) {
    // Errors of the file system and of SQLite have a code, and do not say what to do.
    if (!(error instanceof Error && "code" in error)) throw error;
    throw new Error(`Data cannot be stored in ${folder} (${error.message}): choose another folder with --data.`, {
      cause: error,
    });
  }
};

const open = (folder: string): Data => {
  makeFolder(folder, 0o700);
  const openLock = lock(folder);
  const [pidFile, demoFile] = [join(folder, "pid"), join(folder, "demo.json")];
  const [table, files, carts] = [join(folder, "table.db"), join(folder, "files"), join(folder, "carts")];
  const events = join(folder, "events.json");
  // Do not change the permissions of a folder that has other content.
  const paths = [
    table,
    `${table}-wal`,
    `${table}-shm`,
    files,
    carts,
    events,
    demoFile,
    pidFile,
    join(folder, "lock.db"),
  ];
  for (const path of existsSync(table) ? [folder, ...paths] : paths) makePrivate(path);
  writeFileSync(pidFile, String(process.pid), { mode: 0o600 });
  return {
    table,
    files,
    carts,
    events,
    readDemo: () => {
      const stored = read(demoFile);
      return stored === undefined ? undefined : parseDemo(demoFile, stored);
    },
    saveDemo: (demo) => writeFileSync(demoFile, JSON.stringify(demo), { mode: 0o600 }),
    close: () => openLock.close(),
  };
};
