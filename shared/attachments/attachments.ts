import { cleanUp } from "../deadline.ts";
import { alreadyTaken, invalid, notFound } from "../errors.ts";
import { expiryOf, type LateChange, listLateChange, type Origin, recordOf } from "../history/record.ts";
import { newId } from "../schema/fields.ts";
import type { Item, Write } from "../table/expressions.ts";
import type { Created, Idempotency } from "../table/idempotency.ts";
import { keys, lookupOf } from "../table/keys.ts";
import { optimisticWrite, type Precondition, updateOf } from "../table/optimistic-update.ts";
import { transact } from "../table/write.ts";
import type { Parent } from "../tenants/orders.ts";
import {
  Attachment,
  type AttachmentChanges,
  type FileKind,
  type NewMetadata,
  type Upload,
  type UploadedFile,
} from "./attachment-schema.ts";
import { fileKey } from "./file-keys.ts";
import { fileKindOf } from "./file-kind.ts";
import { putFile, removeFile } from "./files.ts";
import { readAttachment } from "./read.ts";
import { alreadyUsed, claimUpload, readUploadedFile, recordSeconds } from "./uploads.ts";

const attachmentNotFound = (parent: Parent, id: string) => notFound(`${parent.type}_attachment`, id);

type FileProperties = Pick<Attachment, "filename" | "bytes" | "sha256" | "content_type"> & FileKind;

const newAttachment = (file: FileProperties, metadata: NewMetadata, { id, at }: Created): Attachment => ({
  ...file,
  ...metadata,
  filename: metadata.filename ?? file.filename,
  id,
  inserted_at: at,
  updated_at: at,
  version: 1,
});

type CreatedAttachment = { readonly attachment: Attachment; readonly replayed: boolean };

/**
 * Creates an attachment from the file in a form. Stores the file before the metadata, so that metadata always have their file. With
 * an Idempotency-Key that was used before, returns the attachment that was created then. Throws 422 if the reference_id is in use,
 * and 503 if S3 or DynamoDB is unavailable.
 */
export const createAttachment = async (
  parent: Parent,
  { file, ...metadata }: NewMetadata & { readonly file: UploadedFile },
  origin: Origin,
  idempotency: Idempotency | undefined,
): Promise<CreatedAttachment> => {
  const { filename, sha256, content, contentType } = file;
  const bytes = content.length;
  const kind = fileKindOf({ first: content, last: content, bytes });
  const stored = { filename, bytes, sha256, content_type: contentType, ...kind };
  const attachmentOf = (created: Created) => newAttachment(stored, metadata, created);
  if (idempotency?.created) return { attachment: attachmentOf(idempotency.created), replayed: true };
  const created = { id: newId(origin.now.getTime()), at: origin.now.toISOString() };
  const storedAs = fileKey(parent, created.id);
  await putFile(storedAs, file);
  const attachment = attachmentOf(created);
  const unmet = await putMetadata(parent, attachment, origin, idempotency?.write(created));
  if (!unmet) return { attachment, replayed: false };
  // If an attempt had no response, the transaction may still commit and need the file. If it does not, the sweep removes the file.
  if (unmet.isSettled) await removeFile(storedAs);
  return winnerOrThrow(parent, unmet, idempotency, attachmentOf);
};

/** Used for replays, which do not read the file. */
const unknownKind: FileKind = { detected_type: null, encrypted: null };

/**
 * Creates an attachment from a direct upload, as `createAttachment` does from a form. Also throws 422 if the upload has been used,
 * or if its file is missing or not the declared one. The upload's id becomes the attachment's, so the file already has the right
 * object key.
 */
export const completeUpload = async (
  parent: Parent,
  upload: Upload,
  metadata: NewMetadata,
  origin: Origin,
  idempotency: Idempotency | undefined,
): Promise<CreatedAttachment> => {
  const first = idempotency?.created;
  const file = first ? undefined : await readUploadedFile(parent, upload, idempotency !== undefined);
  const { filename, bytes, sha256, content_type } = upload;
  const stored = { filename, bytes, sha256, content_type, ...(file ? fileKindOf(file) : unknownKind) };
  const attachmentOf = (created: Created) => newAttachment(stored, metadata, created);
  if (first) return { attachment: attachmentOf(first), replayed: true };
  const created = { id: upload.id, at: origin.now.toISOString() };
  const attachment = attachmentOf(created);
  const claim = claimUpload(parent, upload);
  const unmet = await putMetadata(parent, attachment, origin, idempotency?.write(created), claim);
  if (!unmet) return { attachment, replayed: false };
  return winnerOrThrow(parent, unmet, idempotency, attachmentOf);
};

/** Returns the writes that record a change and, after the order's checkout, list it as late. */
const recordChange = (
  action: LateChange["change"],
  { type, id, account, order, forwardable, checked_out_at }: Parent,
  attachment: Attachment,
  origin: Origin,
  changed?: readonly string[],
) => {
  const resource = { type: `${type}_attachment`, id: attachment.id, version: attachment.version };
  const { name, bytes, sha256, inserted_at } = attachment;
  const parent = { type, id };
  const file = action === "deleted" ? { bytes, sha256 } : undefined;
  const late = forwardable && checked_out_at !== undefined ? true : undefined;
  const event = recordOf(
    { type: `${type}_attachment.${action}`, account: account.id, resource, parent, changed, late, file },
    origin,
  );
  // An attachment that was created and then updated remains one that the carrier lacks.
  const change = action === "updated" && inserted_at > String(checked_out_at) ? "created" : action;
  const at = origin.now.toISOString();
  return { event, late: late && listLateChange({ order, id: attachment.id, parent, name, change, at }) };
};

/** Runs a transaction on a parent's attachments. If a run has checked the order out since it was read, runs it again as late. */
const beforeOrAfterCheckout = async <T extends ReadonlyMap<string, Item | undefined>>(
  parent: Parent,
  write: (parent: Parent) => Promise<T | undefined>,
): Promise<T | undefined> => {
  const unmet = await write(parent);
  const checked_out_at = unmet?.get("order")?.checked_out_at;
  return typeof checked_out_at === "string" && parent.checked_out_at === undefined
    ? write({ ...parent, checked_out_at })
    : unmet;
};

const putMetadata = (of: Parent, attachment: Attachment, origin: Origin, idempotency?: Write, upload?: Write) =>
  beforeOrAfterCheckout(of, (parent) =>
    transact({
      idempotency,
      upload,
      attachment: { put: { ...keys.attachment(parent, attachment.id), ...attachment }, when: { exists: false } },
      reference:
        attachment.reference_id === null ? undefined : putReference(parent, attachment.id, attachment.reference_id),
      ...changeParent(parent, 1),
      ...recordChange("created", parent, attachment, origin),
    }),
  );

/** Returns the attachment of another request with the same Idempotency-Key. Throws if the transaction failed for another reason. */
const winnerOrThrow = (
  parent: Parent,
  unmet: NonNullable<Awaited<ReturnType<typeof putMetadata>>>,
  idempotency: Idempotency | undefined,
  attachmentOf: (created: Created) => Attachment,
): CreatedAttachment => {
  if (idempotency && unmet.has("idempotency"))
    return { attachment: attachmentOf(idempotency.winner(unmet.get("idempotency"))), replayed: true };
  if (unmet.has("parent") || unmet.has("order")) throw notFound(parent.type, parent.id);
  const resource = { id: unmet.get("reference")?.attachment, type: `${parent.type}_attachment` };
  const referenceTaken = alreadyTaken("/data/reference_id", resource);
  throw invalid([...(unmet.has("upload") ? [alreadyUsed] : []), ...(unmet.has("reference") ? [referenceTaken] : [])]);
};

const putReference = (parent: Parent, id: string, uuid: string) =>
  ({ put: { ...keys.reference(parent, uuid), attachment: id, ...lookupOf(uuid) }, when: { exists: false } }) as const;

/** Changes the parent's attachment count, and increments the order's version, which a checkout seals. */
const changeParent = ({ type, id, order, checked_out_at }: Parent, countBy = 0) => {
  const count = { attachment_count: countBy };
  const version = { attachments_version: 1 };
  const when = { exists: true };
  return {
    parent: type === "request" && countBy !== 0 ? { update: keys.request(id), add: count, when } : undefined,
    order: {
      update: keys.order(order),
      add: type === "order" ? { ...count, ...version } : version,
      when: { ...when, equals: { checked_out_at } },
    },
  } as const;
};

const reread = (parent: Parent, id: string) => async (): Promise<Attachment> => {
  const attachment = await readAttachment(parent, id);
  if (!attachment) throw attachmentNotFound(parent, id);
  return attachment;
};

/** Applies the changes to the metadata. If nothing differs, writes nothing and keeps `updated_at`. */
export const updateAttachment = (
  of: Parent,
  current: Attachment,
  changes: AttachmentChanges,
  origin: Origin,
  precondition: Precondition,
): Promise<Attachment> =>
  optimisticWrite(current, origin, precondition, reread(of, current.id), async (latest, origin) => {
    const { properties, set, written } = updateOf(Attachment, latest, changes, origin.now);
    if (properties.length === 0) return latest;
    const unmet = await beforeOrAfterCheckout(of, (parent) =>
      transact({
        attachment: { update: keys.attachment(parent, latest.id), set, when: { equals: { version: latest.version } } },
        ...changeParent(parent),
        ...recordChange("updated", parent, written, origin, properties),
      }),
    );
    return unmet ? undefined : written;
  });

/**
 * Deletes the metadata and the reference_id in one transaction, then removes the file. A crash between the two leaves a file that
 * no caller can reach, and the sweep removes it. If S3 is unavailable, throws 503 and stores the attachment as an unfinished
 * delete, so that repeating the DELETE completes it. This record expires, because the sweep does not find it if S3 removed the file
 * and only the response was lost.
 */
export const deleteAttachment = async (
  parent: Parent,
  current: Attachment & { readonly unfinished: boolean },
  origin: Origin,
  precondition: Precondition,
): Promise<Attachment> => {
  const unfinishedKey = keys.unfinishedDelete(parent, current.id);
  const { unfinished, ...attachment } = current;
  if (unfinished) precondition(attachment.version);
  const deleted = unfinished
    ? attachment
    : await optimisticWrite(attachment, origin, precondition, reread(parent, current.id), (latest, origin) =>
        deleteMetadata(parent, latest, origin),
      );
  try {
    await removeFile(fileKey(parent, deleted.id));
  } catch (error) {
    const expires_at = Math.ceil(origin.now.getTime() / 1000) + recordSeconds;
    await cleanUp(() => transact({ unfinished: { put: { ...unfinishedKey, ...deleted, expires_at } } }));
    throw error;
  }
  if (unfinished) {
    const unmet = await transact({ unfinished: { delete: unfinishedKey, when: { exists: true } } });
    if (unmet) throw attachmentNotFound(parent, deleted.id);
  }
  return deleted;
};

const deleteMetadata = async (of: Parent, latest: Attachment, origin: Origin): Promise<Attachment | undefined> => {
  const place = { parent: { type: of.type, id: of.id } };
  const expires_at = expiryOf(origin.now);
  const unmet = await beforeOrAfterCheckout(of, (parent) =>
    transact({
      attachment: { delete: keys.attachment(parent, latest.id), when: { equals: { version: latest.version } } },
      reference: latest.reference_id === null ? undefined : { delete: keys.reference(parent, latest.reference_id) },
      ...changeParent(parent, -1),
      ...recordChange("deleted", parent, latest, origin),
      place: { put: { ...keys.deleted(latest.id), account: parent.account.id, ...place, expires_at } },
      receipts: { put: { ...keys.deletedAttachment(latest.id), ...place, order: parent.order, expires_at } },
    }),
  );
  return unmet ? undefined : latest;
};
