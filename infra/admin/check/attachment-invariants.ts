import { isValid } from "ulid";
import { fileDay, fileKey, fileOwner } from "../../../shared/attachments/file-keys.ts";
import { allFiles, type StoredFile } from "../../../shared/attachments/files.ts";
import type { sweptDays } from "../../../shared/attachments/sweep.ts";
import { keys, parentIn } from "../../../shared/table/keys.ts";
import { get, getMany } from "../../../shared/table/read.ts";
import {
  addCount,
  type Check,
  checkOf,
  type Finding,
  keyText,
  type StoredItem,
  type Sums,
  toggleLink,
  violation,
} from "./check-finding.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** Checks links one by one only where they do not add up (`suspects`), because each of these checks needs a read. */
export function* attachmentChecks(item: StoredItem, suspects: ReadonlySet<string>, sums: Sums): Generator<Check> {
  const { pk, sk, reference_id, bytes } = item;
  const parent = parentIn(pk);
  if (!parent) return;
  if (pk === sk) addCount(sums, pk, Number(item.attachment_count));
  const at = keyText(item);
  const [kind, id = ""] = sk.split("#");
  if (kind === "UNFINISHED_DELETE")
    yield checkOf("a deleted attachment has no metadata", at, keys.attachment(parent, id), (attachment) => {
      return attachment === undefined || "its attachment still exists";
    });
  if (kind === "REFERENCE") {
    const { attachment } = item;
    toggleLink(sums, pk, id, attachment);
    if (suspects.has(pk))
      yield checkOf("a reference has its owner", at, keys.attachment(parent, String(attachment)), (owner) => {
        return owner?.reference_id === id || `${attachment} does not have ${id}`;
      });
  }
  if (kind !== "ATTACHMENT") return;
  addCount(sums, pk, -1);
  // The file's key contains the day in the id.
  if (!isValid(id)) return yield async () => [violation("an attachment's id is a ULID", at, `${id} is not one`)];
  const file = fileKey(parent, id);
  const day = fileDay(file) ?? "";
  toggleLink(sums, day, file, bytes);
  if (suspects.has(day)) yield () => missingFile(at, file);
  if (typeof reference_id !== "string") return;
  toggleLink(sums, pk, reference_id, id);
  if (suspects.has(pk))
    yield checkOf("a reference_id has its item", at, keys.reference(parent, reference_id), (reference) => {
      return reference?.attachment === id || `${reference_id} is not this attachment's`;
    });
}

const missingFile = async (at: string, file: string): Promise<Finding[]> => {
  const [found] = await Array.fromAsync(allFiles(file));
  return found?.key === file ? [] : [violation("metadata has its file", at, `there is no file ${file}`)];
};

export type Sweeps = { readonly now: Date; readonly swept: Awaited<ReturnType<typeof sweptDays>> };

export function* storedFileChecks(
  file: StoredFile,
  suspects: ReadonlySet<string>,
  sums: Sums,
  sweeps: Sweeps,
): Generator<Check> {
  const { key, bytes } = file;
  const owner = fileOwner(key);
  if (!owner) return yield async () => [violation("a file has its metadata", key, "its key is not an attachment's")];
  const day = fileDay(key) ?? "";
  toggleLink(sums, day, key, bytes);
  if (!suspects.has(day)) return;
  const metadata = keys.attachment(owner.parent, owner.id);
  yield async () => {
    const [attachment, record] = await getMany([metadata, keys.unfinishedDelete(owner.parent, owner.id)]);
    if (!attachment) return [record ? unfinished(key) : orphan(file, day, sweeps)];
    if (attachment.bytes === bytes) return [];
    const detail = `${key} has ${bytes} bytes instead of ${attachment.bytes}`;
    return [violation("a file has the size in its metadata", keyText(metadata), detail)];
  };
}

const unfinished = (at: string): Finding => {
  const detail = "its delete is not finished: repeat it, or wait for the sweep";
  return { level: "notice", rule: "a file has its metadata", at, detail };
};

/** A crashed delete can leave a file without metadata on a day that was swept before. The sweep reads each day again within a month. */
const orphan = ({ key, storedAt }: StoredFile, day: string, { now, swept: { oldest, last } }: Sweeps): Finding => {
  const rule = "a file has its metadata";
  const never = "it is older than the table's first sweep, so no sweep removes it: check that this is the right table";
  if (oldest && day < oldest) return violation(rule, key, never);
  const daysSince = (time: Date) => Math.floor((now.getTime() - time.getTime()) / dayMs);
  const isSweeping = last !== undefined && daysSince(new Date(last)) < 3;
  if (daysSince(storedAt) < 3 || isSweeping)
    return { level: "notice", rule, at: key, detail: "the sweep will remove it" };
  return violation(rule, key, `it has had no metadata for ${daysSince(storedAt)} days: is the sweep running?`);
};

export const wrongAttachmentCount = async (pk: string, difference: number): Promise<Finding[]> => {
  const parent = await get({ pk, sk: pk });
  if (!parent) return [violation("an attachment has its parent", pk, `${-difference} of its attachments are stored`)];
  const { attachment_count: count } = parent;
  return [violation("attachment_count is exact", pk, `it is ${count}, but ${Number(count) - difference} are stored`)];
};
