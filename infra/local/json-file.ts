import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as z from "zod/mini";

/** Creates a private folder and its parents. */
export const makeFolder = (folder: string) => mkdirSync(folder, { recursive: true, mode: 0o700 });

/** Returns undefined if the text is not JSON, or does not fit the schema. */
export const parseJson = <S extends z.core.$ZodType>(schema: S, text: string): z.output<S> | undefined => {
  try {
    return z.safeParse(schema, JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

/** A folder that is deleted when this process exits. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
};

/** Returns undefined if the file cannot be read, is not JSON, or does not fit the schema. */
export const readJsonFile = <S extends z.core.$ZodType>(schema: S, file: string): z.output<S> | undefined => {
  try {
    return parseJson(schema, readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
};

/** Writes JSON to a file that only its owner can read, and replaces it atomically. */
export const writeJson = (file: string, content: object): void => {
  makeFolder(dirname(file));
  writeFileSync(`${file}.new`, JSON.stringify(content), { mode: 0o600 });
  renameSync(`${file}.new`, file);
};
