import { invalid, problemIn } from "../errors.ts";
import { limits } from "../limits.ts";
import { newId } from "../schema/fields.ts";
import type { Write } from "../table/expressions.ts";
import type { Created, Idempotency } from "../table/idempotency.ts";
import { keys, lookupOf, type ParentRef } from "../table/keys.ts";
import { transact } from "../table/write.ts";
import { type Upload, type UploadFile, uploadExpiry } from "./attachment-schema.ts";
import { fileKey } from "./file-keys.ts";
import { readFileEnds, signedPut } from "./files.ts";

/** Direct uploads: the caller prepares an upload, sends the file directly to S3, and completes the upload. */

/**
 * How long the record of a file without metadata is stored. Such a file belongs to an upload that can no longer be used, or to a
 * delete that could not remove it. The sweep recognizes the file by this record, normally after two days, and still after a month
 * of missed sweeps.
 */
export const recordSeconds = 35 * 24 * 60 * 60;

/** Returns the document of an upload with its signed URL. A repeated request gets a URL signed with the time of the first. */
const uploadDocument = async (parent: ParentRef, file: UploadFile, { id, at }: Created) => ({
  type: "upload",
  data: {
    id,
    ...file,
    ...(await signedPut(fileKey(parent, id), file, new Date(at))),
    expires_at: uploadExpiry({ inserted_at: at }),
  },
});

/** Prepares an upload. Stores a record, and returns a signed URL that accepts only this file. */
export const createUpload = async (
  parent: ParentRef,
  file: UploadFile,
  now: Date,
  idempotency: Idempotency | undefined,
): Promise<{ readonly document: Awaited<ReturnType<typeof uploadDocument>>; readonly replayed: boolean }> => {
  if (idempotency?.created)
    return { document: await uploadDocument(parent, file, idempotency.created), replayed: true };
  const created = { id: newId(now.getTime()), at: now.toISOString() };
  const upload: Upload = { ...file, id: created.id, inserted_at: created.at, state: "open" };
  const expires_at = Math.ceil(now.getTime() / 1000) + limits.uploadSeconds + recordSeconds;
  const [unmet, document] = await Promise.all([
    transact({
      idempotency: idempotency?.write(created),
      upload: {
        put: { ...keys.upload(parent, created.id), ...upload, ...lookupOf(created.id), expires_at },
        when: { exists: false },
      },
    }),
    uploadDocument(parent, file, created),
  ]);
  if (!idempotency || !unmet?.has("idempotency")) return { document, replayed: false };
  const winner = idempotency.winner(unmet.get("idempotency"));
  return { document: await uploadDocument(parent, file, winner), replayed: true };
};

const unusable = (detail: string) => problemIn("path", "/upload_id", "constraint.reference", detail);

export const alreadyUsed = unusable("has already been used");

/**
 * Returns both ends of an upload's file. Throws 422 with the reason if the upload has been used, or if its file has not arrived or
 * has another length or type, or a Content-Encoding. S3 has verified the SHA-256, and the checkout verifies it again. A signature
 * covers only headers that are sent, so S3 stores any Content-Encoding, and some clients would decode the file without a limit.
 */
export const readUploadedFile = async (parent: ParentRef, upload: Upload, repeatable: boolean) => {
  // A request with the same Idempotency-Key may have just claimed the upload. The transaction detects that.
  if (upload.state === "claimed" && !repeatable) throw invalid([alreadyUsed]);
  const file = await readFileEnds(fileKey(parent, upload.id));
  if (upload.state === "claimed") return file;
  if (!file) throw invalid([unusable("has no file yet")]);
  if (file.bytes !== upload.bytes)
    throw invalid([unusable(`has a file of ${file.bytes} bytes instead of ${upload.bytes}`)]);
  if (file.content_type !== upload.content_type)
    throw invalid([unusable(`has a file of the type ${file.content_type} instead of ${upload.content_type}`)]);
  if (file.content_encoding)
    throw invalid([
      unusable("has a file that was sent with a Content-Encoding: prepare another upload, and send it without"),
    ]);
  return file;
};

/** Returns the write that claims an upload, for the transaction that creates the attachment. */
export const claimUpload = (parent: ParentRef, { id }: Upload): Write => ({
  update: keys.upload(parent, id),
  set: { state: "claimed" },
  when: { equals: { state: "open" } },
});
