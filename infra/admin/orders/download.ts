import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { openFile } from "../../../shared/attachments/files.ts";
import { FileError, verified } from "../../../shared/checkout/carrier-form.ts";
import { recordOf } from "../../../shared/history/record.ts";
import { transact } from "../../../shared/table/write.ts";
import { CommandError } from "../cli/command-errors.ts";
import { type Caller, operatorOrigin } from "../cli/operator.ts";
import { type Format, printRecord } from "../cli/output.ts";
import { formatCount, withProgress } from "../cli/progress.ts";
import { findAttachment } from "../history/find-attachment.ts";
import { downloadName } from "./download-name.ts";

export type DownloadOptions = Format & Caller & { readonly to?: string; readonly force: boolean };

const isDirectory = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() ?? false;

/** `attachment download`. Records the event, writes the file under a temporary name, and renames it once it is verified. */
export const download = async (parentId: string, id: string, options: DownloadOptions): Promise<void> => {
  const { to = ".", force, json } = options;
  const { parent, account, attachment } = await findAttachment(parentId, id);
  const { bytes, sha256, filename, version } = attachment;
  const path = (await isDirectory(to)) ? join(to, downloadName(id, filename)) : to;
  if (!force && (await stat(path).catch(() => undefined)))
    throw new CommandError(`${path} exists: choose another path with --to, or replace it with --force.`);
  const resource = { type: "attachment", id, version };
  const event = recordOf({ type: "attachment.downloaded", account, resource, parent }, await operatorOrigin(options));
  const openRecorded = async () => {
    const file = await openFile(fileKey(parent, id));
    if (file) await transact({ event });
    return file;
  };
  // No other download uses this name, so a failed one removes only its own part.
  const part = join(dirname(path), `${id}-${randomUUID()}.part`);
  const interrupt = () => {
    rmSync(part, { force: true });
    process.exit(130);
  };
  // The listener comes before the file, so that there is no moment at which Ctrl-C leaves a part of it.
  process.on("SIGINT", interrupt);
  try {
    const created = await open(part, "wx", 0o600).catch((error: Error) => {
      throw new CommandError(`The file cannot be written (${error.message}): choose another path with --to.`);
    });
    const writing = () => pipeline(verified({ bytes, sha256 }, openRecorded), created.createWriteStream());
    await withProgress(writing, `Downloading ${formatCount(bytes)} bytes …`);
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error instanceof FileError ? new CommandError(`The attachment ${id}: ${error.message}.`) : error;
  } finally {
    process.off("SIGINT", interrupt);
  }
  printRecord({ id, path, bytes, sha256 }, { json });
};
