import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import { invalid, notFound } from "../errors.ts";
import { newId, pick } from "../schema/fields.ts";
import { cleanUp } from "../table/deadline.ts";
import type { Created, Idempotency } from "../table/idempotency.ts";
import { collections, fileKey, keys, type ParentRef } from "../table/keys.ts";
import { nextVersion, onLatest, type Precondition } from "../table/optimistic-update.ts";
import { get, parseItem, queryAll } from "../table/read.ts";
import { showsOwnWrite, transact } from "../table/write.ts";
import type { Parent } from "../tenants/orders.ts";
import { putFile, removeFile } from "./files.ts";
import { Attachment, type AttachmentChanges, AttachmentData, type NewAttachment } from "./schema.ts";

const missing = (parent: Parent, id: string) => notFound(`${parent.type}_attachment`, id);

/** The envelope of an attachment, as every endpoint answers it. */
export const attachmentDocument = (parent: Parent, attachment: Attachment) => ({
  type: `${parent.type}_attachment`,
  data: pick(AttachmentData, attachment),
  ...(parent.type === "request" && { associations: { request: { type: "request", data: { id: parent.id } } } }),
});

/** One attachment; undefined where there is none. */
export const readAttachment = async (parent: ParentRef, id: string): Promise<Attachment | undefined> => {
  const item = await get(keys.attachment(parent, id));
  return item && parseItem(Attachment, item);
};

/** Every attachment of a parent, in the order of their ids. */
export async function* allAttachments(parent: ParentRef): AsyncGenerator<Attachment> {
  for await (const item of queryAll(collections.attachments(parent))) yield parseItem(Attachment, item);
}

const newAttachment = (
  { file, filename = file.filename, ...rest }: NewAttachment,
  { id, at }: Created,
): Attachment => ({
  ...rest,
  id,
  filename,
  inserted_at: at,
  updated_at: at,
  version: 1,
  bytes: file.content.length,
  sha256: file.sha256,
  content_type: file.contentType,
});

/**
 * Stores the file, then the metadata, the reference_id and the parent's count in one transaction: metadata never
 * lacks its file. With an Idempotency-Key that was used before, answers again what it made then. 422 where the
 * reference_id is taken under this parent; 503 where storage or table is away.
 */
export const createAttachment = async (
  parent: Parent,
  input: NewAttachment,
  now: Date,
  idempotency: Idempotency | undefined,
): Promise<{ readonly attachment: Attachment; readonly replayed: boolean }> => {
  if (idempotency?.created) return { attachment: newAttachment(input, idempotency.created), replayed: true };
  const created = { id: newId(now.getTime()), at: now.toISOString() };
  const attachment = newAttachment(input, created);
  const storedAs = fileKey(parent, created.id);
  await putFile(storedAs, input.file);
  const refused = await transact({
    idempotency: idempotency?.write(created),
    attachment: { put: { ...keys.attachment(parent, created.id), ...attachment }, when: { exists: false } },
    reference: attachment.reference_id === null ? undefined : referenceTo(parent, created.id, attachment.reference_id),
    parent: changeParent(parent, 1),
  });
  if (refused.size === 0 || showsOwnWrite(refused, created.id)) return { attachment, replayed: false };
  // An attempt without a response may still commit, and would then lack its file: the sweep removes the file instead.
  if (refused.final) await removeFile(storedAs);
  if (idempotency && refused.has("idempotency"))
    return { attachment: newAttachment(input, idempotency.winner(refused.get("idempotency"))), replayed: true };
  if (refused.has("parent")) throw notFound(parent.type, parent.id);
  throw invalid([
    { in: "body", pointer: "/data/reference_id", sub_code: "constraint.unique", detail: "has already been taken" },
  ]);
};

const referenceTo = (parent: Parent, id: string, uuid: string) =>
  ({ put: { ...keys.reference(parent, uuid), attachment: id }, when: { exists: false } }) as const;

/** Moves the version that a checkout seals, and with it the number of attachments. */
const changeParent = (parent: Parent, countBy = 0) =>
  ({
    update: keys.parent(parent),
    add: { attachment_count: countBy, attachments_version: 1 },
    when: { exists: true },
  }) as const;

const reread = (parent: Parent, id: string) => async (): Promise<Attachment> => {
  const attachment = await readAttachment(parent, id);
  if (!attachment) throw missing(parent, id);
  return attachment;
};

/** Changes metadata; what is left out keeps its value, and changing nothing moves nothing. 412 and 404 as the rules say. */
export const updateAttachment = (
  parent: Parent,
  current: Attachment,
  changes: AttachmentChanges,
  now: Date,
  precondition: Precondition,
): Promise<Attachment> =>
  onLatest(current, precondition, reread(parent, current.id), async (latest) => {
    const changed = z.parse(Attachment, { ...latest, ...changes });
    if (isDeepStrictEqual(changed, latest)) return latest;
    const next = nextVersion(latest, now);
    const set = { ...changes, ...next };
    const refused = await transact({
      attachment: { update: keys.attachment(parent, latest.id), set, when: { equals: { version: latest.version } } },
      parent: changeParent(parent),
    });
    return refused.size === 0 ? { ...changed, ...next } : undefined;
  });

/**
 * Removes metadata, reference_id and count in one transaction, then the file: a crash between the two leaves a file
 * that nobody sees, for the sweep. Where storage is away, what was deleted is kept as an unfinished delete (503), so
 * that repeating it finishes it.
 */
export const deleteAttachment = async (
  parent: Parent,
  current: Attachment & { readonly unfinished: boolean },
  precondition: Precondition,
): Promise<Attachment> => {
  const unfinishedKey = keys.unfinishedDelete(parent, current.id);
  const { unfinished, ...attachment } = current;
  const deleted = unfinished
    ? attachment
    : await onLatest(attachment, precondition, reread(parent, current.id), (latest) => deleteMetadata(parent, latest));
  try {
    await removeFile(fileKey(parent, deleted.id));
  } catch (error) {
    await cleanUp(() => transact({ unfinished: { put: { ...unfinishedKey, ...deleted } } }));
    throw error;
  }
  if (unfinished) {
    const refused = await transact({ unfinished: { delete: unfinishedKey, when: { exists: true } } });
    if (refused.size > 0) throw missing(parent, deleted.id);
  }
  return deleted;
};

const deleteMetadata = async (parent: Parent, latest: Attachment): Promise<Attachment | undefined> => {
  const refused = await transact({
    attachment: { delete: keys.attachment(parent, latest.id), when: { equals: { version: latest.version } } },
    reference: latest.reference_id === null ? undefined : { delete: keys.reference(parent, latest.reference_id) },
    parent: changeParent(parent, -1),
  });
  return refused.size === 0 ? latest : undefined;
};
