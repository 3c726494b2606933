import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * Creates a folder and its parents, if they do not exist. Node's own `recursive` never returns if the file system refuses a
 * folder with ENOENT, as /proc and a deleted mount do.
 */
export const makeFolder = (folder: string, mode?: number): void => {
  const parent = dirname(folder);
  if (parent !== folder && !existsSync(parent)) makeFolder(parent, mode);
  try {
    mkdirSync(folder, mode);
  } catch (error) {
    if (!isFolder(folder)) throw error;
  }
};
