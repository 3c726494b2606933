import { isValid } from "ulid";
import { fileDay, fileKey, fileOwner } from "../../shared/attachments/file-keys.ts";
import { listFiles, type StoredFile } from "../../shared/attachments/files.ts";
import { keys, type ParentRef } from "../../shared/table/keys.ts";
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
} from "./finding.ts";

const dayMs = 24 * 60 * 60 * 1000;

/**
 * The checks of one item in the partition of an order or a request: attachments, their references and unfinished deletes.
 * Links are checked one by one only where they do not add up, because each takes a call.
 */
export const attachmentChecks = (item: StoredItem, suspects: ReadonlySet<string>, sums: Sums): Check[] => {
  const { pk, sk, reference_id, bytes } = item;
  const [, type, parentId] = /^(ORDER|REQUEST)#(.+)$/.exec(pk) ?? [];
  if (parentId === undefined) return [];
  if (pk === sk) addCount(sums, pk, Number(item.attachment_count));
  const parent: ParentRef = { type: type === "ORDER" ? "order" : "request", id: parentId };
  const [kind, id = ""] = sk.split("#");
  if (kind === "UNFINISHED_DELETE") return [unfinishedDelete(item, parent, id)];
  if (kind === "REFERENCE") {
    toggleLink(sums, pk, id, item.attachment);
    return suspects.has(pk) ? [ownerCheck(item, parent, id)] : [];
  }
  if (kind !== "ATTACHMENT") return [];
  addCount(sums, pk, -1);
  // Its file's key contains the time in the id.
  if (!isValid(id))
    return [checkOf("an attachment's id is a ULID", keyText(item), undefined, () => `${id} is not one`)];
  const file = fileKey(parent, id);
  const day = fileDay(file) ?? "";
  toggleLink(sums, day, file, bytes);
  if (typeof reference_id === "string") toggleLink(sums, pk, reference_id, id);
  return [
    ...(suspects.has(day) ? [fileCheck(item, file)] : []),
    ...(suspects.has(pk) && typeof reference_id === "string" ? [referenceCheck(item, parent, id, reference_id)] : []),
  ];
};

const fileCheck = (item: StoredItem, file: string): Check =>
  checkOf("metadata has its file", keyText(item), undefined, async () => {
    const { files } = await listFiles(file, undefined, 1);
    return files[0]?.key === file || `there is no file ${file}`;
  });

const referenceCheck = (item: StoredItem, parent: ParentRef, id: string, uuid: string): Check =>
  checkOf("a reference_id has its item", keyText(item), keys.reference(parent, uuid), (reference) => {
    return reference?.attachment === id || `${uuid} is not this attachment's`;
  });

const ownerCheck = (item: StoredItem, parent: ParentRef, uuid: string): Check => {
  const key = keys.attachment(parent, String(item.attachment));
  return checkOf("a reference has its owner", keyText(item), key, (owner) => {
    return owner?.reference_id === uuid || `${item.attachment} does not have ${uuid}`;
  });
};

const unfinishedDelete = (item: StoredItem, parent: ParentRef, id: string): Check => {
  const rule = "a delete is finished";
  const detail = "its file may still exist: repeat the delete, or wait for the sweep";
  return {
    keys: [keys.attachment(parent, id)],
    judge: ([attachment]) => [
      attachment
        ? violation(rule, keyText(item), "its attachment is still there")
        : { level: "notice", rule, at: keyText(item), detail },
    ],
  };
};

/** `sweptSince` is the oldest day whose files the sweep removes, if there has been a sweep. */
export type Sweeps = { readonly now: Date; readonly sweptSince: string | undefined };

export const storedFileChecks = (
  file: StoredFile,
  suspects: ReadonlySet<string>,
  sums: Sums,
  sweeps: Sweeps,
): Check[] => {
  const { key, bytes } = file;
  const owner = fileOwner(key);
  if (!owner) return [checkOf("a file has its metadata", key, undefined, () => "its key is not an attachment's")];
  const day = fileDay(key) ?? "";
  toggleLink(sums, day, key, bytes);
  if (!suspects.has(day)) return [];
  const metadata = keys.attachment(owner.parent, owner.id);
  const rule = "a file has the size in its metadata";
  return [
    {
      keys: [metadata],
      judge: ([attachment]) => {
        if (!attachment) return [orphan(file, day, sweeps)];
        if (attachment.bytes === bytes) return [];
        return [violation(rule, keyText(metadata), `${key} has ${bytes} bytes instead of ${attachment.bytes}`)];
      },
    },
  ];
};

/** The sweep removes a file without metadata once it is a day old, at most two days later. */
const orphan = ({ key, storedAt }: StoredFile, day: string, { now, sweptSince }: Sweeps): Finding => {
  const rule = "a file has its metadata";
  const never = "it is older than the table's first sweep, so no sweep removes it: is it the right table?";
  if (sweptSince && day < sweptSince) return violation(rule, key, never);
  const age = Math.floor((now.getTime() - storedAt.getTime()) / dayMs);
  if (age >= 3) return violation(rule, key, `it has had none for ${age} days: is the sweep running?`);
  return { level: "notice", rule, at: key, detail: "the sweep will remove it" };
};

/** The check of a partition whose count is not the number of its attachments. */
export const attachmentCountCheck = (pk: string, difference: number): Check => ({
  keys: [{ pk, sk: pk }],
  judge: ([parent]) => {
    if (!parent) return [violation("an attachment has its parent", pk, `${-difference} of its attachments are stored`)];
    const { attachment_count: count } = parent;
    const detail = `it is ${count}, but ${Number(count) - difference} are stored`;
    return [violation("attachment_count is exact", pk, detail)];
  },
});
