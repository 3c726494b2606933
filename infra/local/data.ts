import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Demo } from "./demo.ts";
import { makeFolder, readJsonFile, writeJson } from "./json-file.ts";

/** Where a local stack stores its data between runs. */
export type Data = ReturnType<typeof open>;

/** SQLite's lock ends with its process. A file with a process id does not: another process may get the same id, as in containers. */
const lock = (folder: string): DatabaseSync => {
  const database = new DatabaseSync(join(folder, "lock.db"), { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    // SQLITE_BUSY: https://www.sqlite.org/rescode.html#busy
    if (!(error instanceof Error && "errcode" in error && error.errcode === 5)) throw error;
    const file = join(folder, "pid");
    const holder = existsSync(file) && readFileSync(file, "utf8");
    const who = holder ? `process ${holder}` : "another process";
    throw new Error(`The data in ${folder} is in use by ${who}: stop it, or choose another folder.`);
  }
};

/** Opens and locks a folder, because the embedded DynamoDB does not prevent a second use. Throws if it is in use. */
export const openData = (folder: string) => {
  try {
    return open(folder);
  } catch (error) {
    // Errors of the file system and of SQLite have a code, and do not say what to do.
    if (!(error instanceof Error && "code" in error)) throw error;
    const message = `Data cannot be stored in ${folder} (${error.message}): choose another folder with --data.`;
    throw new Error(message, { cause: error });
  }
};

const open = (folder: string) => {
  makeFolder(folder);
  const openLock = lock(folder);
  const [table, demoFile] = [join(folder, "table.db"), join(folder, "demo.json")];
  // Restored data may have been readable for other users. A folder with other content keeps its permissions.
  if (existsSync(table)) chmodSync(folder, 0o700);
  writeFileSync(join(folder, "pid"), String(process.pid), { mode: 0o600 });
  return {
    table,
    files: join(folder, "files"),
    carts: join(folder, "carts"),
    events: join(folder, "events.json"),
    /** The demo of an earlier run. Its key is stored nowhere else. */
    readDemo: () => {
      const demo = readJsonFile(Demo, demoFile);
      if (demo || !existsSync(demoFile)) return demo;
      const advice = "delete it, and the next start creates a new demo customer beside your data.";
      throw new Error(`${demoFile} is damaged: ${advice}`);
    },
    saveDemo: (demo: Demo) => writeJson(demoFile, demo),
    close: () => openLock.close(),
  };
};
