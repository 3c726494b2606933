import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod/mini";
import { Demo } from "./demo.ts";
import { isDiskFull } from "./disk-full.ts";
import { makeFolder, readJsonFile, writeJson } from "./json-file.ts";

/** Where a local stack stores its data between runs. */
export type Data = ReturnType<typeof open>;

/**
 * Locks a folder. SQLite's lock ends with its process. A file with a process id may not, because another process can get that id,
 * as in containers.
 */
export const lock = (folder: string): DatabaseSync => {
  const database = new DatabaseSync(join(folder, "lock.db"), { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    // This is SQLITE_BUSY.
    // Source: https://www.sqlite.org/rescode.html#busy
    if (!(error instanceof Error && "errcode" in error && error.errcode === 5)) throw error;
    const file = join(folder, "pid");
    const holder = existsSync(file) && readFileSync(file, "utf8");
    const who = holder ? `process ${holder}` : "another process";
    throw new Error(`The data in ${folder} is in use by ${who}: stop it, or choose another folder.`);
  }
};

/** Increment it whenever the layout of the folder changes, or existing data can no longer be read. */
const dataFormat = 1;

/** The files and folders in which the services store data. */
const names = { table: "table.db", files: "files", carts: "carts", events: "events.json", demo: "demo.json" };

const own = ["format.json", "pid", "lock.db", ...Object.values(names)];

/** SQLite's and this code's own temporary files have these endings. */
const isOwn = (name: string) => own.includes(name.replace(/(-wal|-shm|-journal|\.new)$/, ""));

/** Refuses data in another format, which would seem lost. A new folder gets the current format. */
const requireFormat = (folder: string): void => {
  const file = join(folder, "format.json");
  const found = readJsonFile(z.object({ format: z.number() }), file)?.format;
  if (found === dataFormat) return;
  if (Object.values(names).every((name) => !existsSync(join(folder, name)))) {
    writeJson(file, { format: dataFormat });
    return;
  }
  const format = found === undefined ? "no format" : `format ${found}`;
  throw new Error(
    `The data in ${folder} have ${format}, and this version reads format ${dataFormat}. Nothing was changed: start the version of Patchbay that stored them, or choose another folder with --data.`,
  );
};

const adviceOn = (error: unknown, folder: string): string => {
  if (isDiskFull(error)) return "free space on its disk, and start again";
  const hasData = existsSync(join(folder, names.table));
  return hasData ? "let this user write to it, and start again" : "choose another folder with --data";
};

/** Opens and locks a folder, because the embedded DynamoDB does not prevent a second use. Throws if it is in use. */
export const openData = (folder: string) => {
  try {
    return open(folder);
  } catch (error) {
    // Errors of the file system and of SQLite have a code, but no advice.
    if (!(error instanceof Error && "code" in error)) throw error;
    const message = `Data cannot be stored in ${folder} (${error.message}): ${adviceOn(error, folder)}.`;
    throw new Error(message, { cause: error });
  }
};

const prepare = (folder: string): void => {
  requireFormat(folder);
  // Restored data may have been readable for other users. A folder with other content keeps its permissions.
  if (existsSync(join(folder, names.table)) && readdirSync(folder).every(isOwn)) chmodSync(folder, 0o700);
  writeFileSync(join(folder, "pid"), String(process.pid), { mode: 0o600 });
};

const open = (folder: string) => {
  makeFolder(folder);
  const openLock = lock(folder);
  try {
    prepare(folder);
  } catch (error) {
    openLock.close();
    throw error;
  }
  const demoFile = join(folder, names.demo);
  return {
    table: join(folder, names.table),
    files: join(folder, names.files),
    carts: join(folder, names.carts),
    events: join(folder, names.events),
    /** The demo of an earlier run. Its key is stored nowhere else. */
    readDemo: () => {
      const demo = readJsonFile(Demo, demoFile);
      if (demo || !existsSync(demoFile)) return demo;
      const advice = "delete it, and the next start creates a new demo customer in addition to your data.";
      throw new Error(`${demoFile} is damaged: ${advice}`);
    },
    saveDemo: (demo: Demo) => writeJson(demoFile, demo),
    close: () => openLock.close(),
  };
};
