import { createReadStream, createWriteStream, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { type FileHandle, open, rename, rm, stat, truncate } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { pipeline } from "node:stream/promises";
import * as z from "zod/mini";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { openFile } from "../../../shared/attachments/files.ts";
import { readAttachment } from "../../../shared/attachments/read.ts";
import { FileError, verified } from "../../../shared/checkout/carrier-form.ts";
import { forEachConcurrently } from "../../../shared/for-each-concurrently.ts";
import { recordOf } from "../../../shared/history/record.ts";
import { Ulid } from "../../../shared/schema/fields.ts";
import { parentIn } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import type { Account } from "../../../shared/tenants/tenant-schema.ts";
import { fromCaller } from "../../local/command.ts";
import { lock } from "../../local/data.ts";
import { isDiskFull } from "../../local/disk-full.ts";
import { makeFolder, readJsonFile, writeJson } from "../../local/json-file.ts";
import { CommandError } from "../cli/command-errors.ts";
import { findAccount } from "../cli/lookups.ts";
import { type Caller, operatorOrigin } from "../cli/operator.ts";
import { type Format, printRecord, safe } from "../cli/output.ts";
import { formatCount, withProgress } from "../cli/progress.ts";
import { type AccountRecord, findPartitions, recordKinds, recordsOf } from "./account-records.ts";

/**
 * `account export`. The records are written first, then the files. Each file gets its name once it is complete and verified, so a
 * repeated command continues after whatever was interrupted.
 */

const Counts = z.record(z.string(), z.int());

/**
 * How far the records are written. It has the partition to continue after, how many of each kind there are, and how long the files
 * were then.
 */
const Progress = z.object({ after: z.string(), counts: Counts, sizes: Counts });

/** The state of an export, which is stored in its folder. `records` counts the records, by kind, once all are written. */
const State = z.object({
  format: z.literal(1),
  account: z.string(),
  with_secrets: z.boolean(),
  progress: z.nullable(Progress),
  records: z.nullable(Counts),
  complete: z.boolean(),
});
type State = z.infer<typeof State>;

export type ExportOptions = Format & Caller & { readonly to: string; readonly withSecrets: boolean };

type Export = { readonly folder: string; readonly account: Account; state: State };

const stateFile = (folder: string) => join(folder, "export.json");
const checksums = "SHA256SUMS";

const save = (one: Export, changes: Partial<State>) => {
  one.state = { ...one.state, ...changes };
  writeJson(stateFile(one.folder), one.state);
};

/** Refuses a folder with anything in it that is not an export of this account with the same options. */
const requireOwn = (folder: string, wanted: Pick<State, "account" | "with_secrets">): State => {
  const first: State = { format: 1, ...wanted, progress: null, records: null, complete: false };
  if (!existsSync(folder)) return first;
  if (!statSync(folder).isDirectory())
    throw new CommandError(`${folder} is not a folder: choose another one with --to.`);
  const found = readJsonFile(State, stateFile(folder));
  if (found && (found.account !== wanted.account || found.with_secrets !== wanted.with_secrets)) {
    const secrets = found.with_secrets ? "with secrets" : "without secrets";
    throw new CommandError(
      `${folder} has an export of the account ${found.account} ${secrets}: choose another folder with --to.`,
    );
  }
  // What is left if the process ended before the state was written.
  const others = readdirSync(folder).filter((name) => !/^(lock\.db(-journal)?|export\.json\.new)$/.test(name));
  if (!found && others.length > 0)
    throw new CommandError(`${folder} is not empty, and not an export: choose another folder with --to.`);
  return found ?? first;
};

export const exportAccount = async (id: string, { to, withSecrets, ...called }: ExportOptions): Promise<void> => {
  const account = await findAccount(id);
  const folder = fromCaller(to);
  const wanted = { account: account.id, with_secrets: withSecrets };
  const writing = async () => {
    const one: Export = { folder, account, state: requireOwn(folder, wanted) };
    if (one.state.complete) console.error("This export was complete: for a newer one, choose another folder.");
    else await complete(one, called);
    printRecord({ account: account.id, folder, ...one.state.records }, called);
  };
  requireOwn(folder, wanted);
  await locking(folder, writing).catch((error: unknown) => {
    if (!isDiskFull(error)) throw error;
    throw new CommandError(`The disk of ${folder} is full. Free space, and repeat the command: it continues.`);
  });
};

/** Creates a folder, and keeps other exports out of it. */
const locking = async (folder: string, work: () => Promise<void>): Promise<void> => {
  makeFolder(folder);
  const locked = lock(folder);
  try {
    await work();
  } finally {
    locked.close();
    await rm(join(folder, "lock.db"), { force: true });
  }
};

const complete = async (one: Export, caller: Caller) => {
  // It is recorded before anything is read, and again if the command is repeated.
  await transact({ event: recordExport(one, await operatorOrigin(caller)) });
  save(one, {});
  while (one.state.records === null) await writeRecords(one);
  await writeFiles(one);
  save(one, { complete: true });
};

const recordExport = (
  { account: { id, version }, state }: Export,
  origin: Awaited<ReturnType<typeof operatorOrigin>>,
) =>
  recordOf(
    {
      type: "account.exported",
      account: id,
      resource: { type: "account", id, version },
      ...(state.with_secrets && { evidence: { reason: "With secrets." } }),
    },
    origin,
  );

/** Whether a property of a record is a secret. Secrets are those of switches, and the hashes of keys. */
const isSecret = (name: string) => name.endsWith("_secret") || name === "sha256";

/** Returns what is exported of a record. This is its attributes, and in whose partition it is. */
const exported = ({ kind, item }: AccountRecord, { state }: Export): object => {
  const { pk, sk: _, lookup: _index, write_id: _write, ...attributes } = item;
  const hasSecrets = kind === "switches" || kind === "keys";
  const all = { ...attributes, ...(kind === "keys" && { sha256: pk.replace("KEY#", "") }) };
  const allowed = Object.entries(all).filter(([name]) => state.with_secrets || !hasSecrets || !isSecret(name));
  const parent = kind === "orders" || kind === "requests" ? undefined : parentIn(pk);
  return { ...Object.fromEntries(allowed), ...(parent && kind !== "events" && { parent }) };
};

/** DynamoDB returns attributes in any order. */
const sorted = (_: string, value: unknown): unknown =>
  value !== null && typeof value === "object" && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;

/** A file that is written line by line, under a temporary name until it is complete. Continues after its first `from` bytes. */
const openLines = async (path: string, from: number) => {
  const part = `${path}.part`;
  const found = (await stat(part).catch(() => undefined))?.size ?? 0;
  const isShorter = found < from;
  if (found > from) await truncate(part, from);
  const file: FileHandle = await open(part, "a", 0o600);
  let [pending, size] = ["", from];
  const flush = async () => {
    const bytes = Buffer.from(pending);
    pending = "";
    await file.appendFile(bytes);
    size += bytes.length;
    return size;
  };
  return {
    isShorter,
    add: async (line: string) => {
      pending += `${line}\n`;
      if (pending.length > 65_536) await flush();
    },
    flush,
    finish: async () => {
      await flush();
      await file.sync();
      await file.close();
      await rename(part, path);
    },
    close: () => file.close(),
  };
};
type Lines = Awaited<ReturnType<typeof openLines>>;

/** The part of a line of attachments.jsonl that concerns its file. */
const Listed = z.object({
  id: Ulid,
  parent: z.object({ type: z.enum(["order", "request"]), id: Ulid }),
  bytes: z.number(),
  sha256: z.string(),
});
type Listed = z.infer<typeof Listed>;

/** A path consists of ids only. */
const pathOf = ({ parent, id }: Listed) => join("files", parent.id, id);

const names = [...recordKinds.map((kind) => `${kind}.jsonl`), checksums];

/** How often the progress is saved. */
const saveEveryMs = 1_000;

/** Writes the records. If they cannot be continued, forgets the progress, and the next call begins from scratch. */
const writeRecords = async (one: Export): Promise<void> => {
  const { after, counts: counted, sizes = {} } = one.state.progress ?? {};
  const counts = { ...Object.fromEntries(recordKinds.map((kind) => [kind, 0])), ...counted };
  const files = new Map<string, Lines>();
  try {
    for (const name of names) files.set(name, await openLines(join(one.folder, name), sizes[name] ?? 0));
    // The process ended while it renamed the files, or the machine lost their ends.
    if ([...files.values()].some(({ isShorter }) => isShorter)) return save(one, { progress: null });
    const { partitions } = await findPartitions(one.account.id);
    const left = partitions.filter((pk) => after === undefined || pk > after);
    const total = () => Object.values(counts).reduce((sum, count) => sum + count, 0);
    const writing = async () => {
      let savedAt = performance.now();
      for await (const { records, done } of recordsOf(left)) {
        for (const record of records) await writeRecord(one, record, files, counts);
        if (done === undefined || performance.now() - savedAt < saveEveryMs) continue;
        save(one, { progress: { after: done, counts, sizes: await sizesOf(files) } });
        savedAt = performance.now();
      }
      for (const file of files.values()) await file.finish();
      save(one, { progress: null, records: counts });
    };
    await withProgress(writing, () => `Exporting … ${formatCount(total())} records`);
  } finally {
    for (const file of files.values()) await file.close().catch(() => {});
  }
};

const sizesOf = async (files: ReadonlyMap<string, Lines>): Promise<Record<string, number>> => {
  const sizes: Record<string, number> = {};
  for (const [name, file] of files) sizes[name] = await file.flush();
  return sizes;
};

const writeRecord = async (
  one: Export,
  record: AccountRecord,
  files: ReadonlyMap<string, Lines>,
  counts: Record<string, number>,
): Promise<void> => {
  // Otherwise, each export would differ from the one before it.
  if (record.item.type === "account.exported") return;
  const line = exported(record, one);
  counts[record.kind] = (counts[record.kind] ?? 0) + 1;
  // Some readers also take U+2028 for the end of a line, so it is escaped.
  await files.get(`${record.kind}.jsonl`)?.add(safe(JSON.stringify(line, sorted)));
  if (record.kind !== "attachments") return;
  const file = z.parse(Listed, line);
  await files.get(checksums)?.add(`${file.sha256}  ${pathOf(file).replaceAll("\\", "/")}`);
};

const filesAtOnce = 8;

async function* listedFiles({ folder }: Export): AsyncGenerator<Listed> {
  const lines = createInterface({ input: createReadStream(join(folder, "attachments.jsonl")), crlfDelay: Infinity });
  for await (const line of lines) yield z.parse(Listed, JSON.parse(line));
}

/** The most problems that are listed. */
const maxListed = 20;

const writeFiles = async (one: Export) => {
  const [total, counts] = [one.state.records?.attachments ?? 0, { done: 0, deleted: 0, damaged: 0 }];
  const problems: string[] = [];
  const progress = () => `Exporting … ${formatCount(counts.done)} of ${formatCount(total)} files`;
  await withProgress(
    () =>
      forEachConcurrently(filesAtOnce, listedFiles(one), async (file) => {
        const problem = await writeFile(one, file);
        counts.done += 1;
        if (problem === undefined) return;
        if (problem === "deleted") counts.deleted += 1;
        else if (++counts.damaged <= maxListed) problems.push(problem);
      }),
    progress,
  );
  if (counts.deleted > 0)
    console.error(
      `${formatCount(counts.deleted)} of the attachments were deleted during the export, with their files.`,
    );
  if (problems.length === 0) return;
  const rest = counts.damaged > maxListed ? [`And ${formatCount(counts.damaged - maxListed)} more.`] : [];
  const list = [...problems, ...rest].join("\n");
  throw new CommandError(`${list}\nEverything else is exported. Repeat the command once these files are restored.`);
};

/** Returns the problem of a file that cannot be exported, or "deleted" if its attachment was deleted meanwhile. */
const writeFile = async ({ folder }: Export, file: Listed): Promise<string | undefined> => {
  const path = join(folder, pathOf(file));
  const found = await stat(path).catch(() => undefined);
  if (found?.size === file.bytes) return undefined;
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  const part = `${path}.part`;
  try {
    const stored = verified(file, () => openFile(fileKey(file.parent, file.id)));
    await pipeline(stored, createWriteStream(part, { mode: 0o600, flush: true }));
    await rename(part, path);
    return undefined;
  } catch (error) {
    await rm(part, { force: true });
    if (!(error instanceof FileError)) throw error;
    if (error.gone && !(await readAttachment(file.parent, file.id))) return "deleted";
    return `The attachment ${basename(path)} of ${file.parent.type} ${file.parent.id}: ${error.message}.`;
  }
};
