import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import { env } from "../env.ts";
import { limits } from "../limits.ts";
import {
  controlCharacters,
  isSame,
  isSameId,
  isSamePadded,
  Name,
  padded,
  pick,
  Timestamp,
  text,
  Ulid,
  Uuid,
  withoutDefaults,
  withoutRules,
} from "../schema/fields.ts";
import type { ParentRef } from "../table/keys.ts";

const FileHint = z.enum(["DEFAULT", "LOA"]);

/** An empty text is stored as null. */
const Notes = z
  .nullable(
    text(limits.notesLength).check(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
      z.regex(/^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$/, {
        error: "must not contain control characters other than tabs and line breaks",
      }),
    ),
  )
  .check(z.overwrite((notes) => notes || null));

/**
 * The properties of an attachment that callers set. To add one, change only this file. Add the property here, with a default for
 * older items, and add a description and an example below. Add it to `changeable` or `immutableAttachmentProperties`, and to
 * `SentMetadata` if the carrier receives it.
 */
const metadata = {
  name: Name,
  notes: z._default(Notes, null),
  file_hint: z._default(padded(FileHint), "DEFAULT"),
  reference_id: z._default(z.nullable(padded(Uuid)), null),
};

export const metadataDescriptions = {
  name: "The display name. Blanks at its ends are removed.",
  notes: "Free text. An empty string is stored as null.",
  file_hint: "The kind of document: `DEFAULT` for a general document, `LOA` for a letter of authorization.",
  reference_id: "A UUID chosen by the caller, unique within the request or the order. Returned in lower case.",
} as const satisfies Record<keyof typeof metadata, string>;

export const metadataExample = {
  name: "Letter of authorization",
  notes: "Signed by the subscriber on 3 November.",
  file_hint: "LOA",
  reference_id: "7b3e4c1a-5d2f-4e8a-9c61-0f2d8a4b6e13",
} as const satisfies { readonly [K in keyof typeof metadata]: z.output<(typeof metadata)[K]> };

export const minimalMetadata = (name: string) => z.parse(z.object(metadata), { name });

/** The properties that a PATCH can change. */
export const changeable = { name: true, notes: true, file_hint: true } as const;

/** 1 to 255 characters, without path separators and control characters. Names of folders (`.` and `..`) are not allowed. */
export const Filename = text(limits.filenameLength).check(
  z.minLength(1),
  z.regex(/[^\s.]|\.[^.]|[^.]\.|\.{3}/, { error: "must not be blank, . or .." }),
  z.regex(new RegExp(`^[^/\\\\${controlCharacters}]*$`), {
    error: "must not contain /, \\, control characters, nor those that change the direction of text",
  }),
);

/** A media type without parameters. Source: RFC 6838, 4.2. That of a .pptx has a subtype of 61 characters. */
export const MediaType = z.string().check(
  z.regex(/^[a-zA-Z0-9_.+!#$&^-]{1,127}\/[a-zA-Z0-9_.+!#$&^-]{1,127}$/, {
    error: "must be a media type without parameters",
  }),
  z.toLowerCase(),
);

/** An attachment as callers receive it, in the `data` of its document. */
export const AttachmentData = z.object({
  id: Ulid,
  ...withoutDefaults(metadata),
  filename: z.string(),
  inserted_at: Timestamp,
  updated_at: Timestamp,
});
export type AttachmentData = z.infer<typeof AttachmentData>;

export const AttachmentChanges = z.partial(z.pick(AttachmentData, changeable));
export type AttachmentChanges = z.infer<typeof AttachmentChanges>;

export const FileKind = z.object({ detected_type: z.nullable(z.string()), encrypted: z.nullable(z.boolean()) });
export type FileKind = z.infer<typeof FileKind>;

type ServerTimes = "inserted_at" | "updated_at";

/**
 * The properties that a PATCH can contain but not change, with the comparisons to use. It ignores the server's times, because typed
 * clients send them back in notations of their own: `.41Z`, `+00:00`.
 */
export const immutableAttachmentProperties = {
  id: isSameId,
  filename: isSamePadded(isSame),
  reference_id: isSamePadded(isSameId),
} satisfies Record<Exclude<keyof AttachmentData, keyof typeof changeable | ServerTimes>, typeof isSame>;

/** An attachment as it is stored. `version` counts its writes. A new property needs a default, because older items lack it. */
export const Attachment = z.object({
  ...withoutRules({ ...AttachmentData.shape, ...metadata }),
  version: z.number(),
  bytes: z.number(),
  sha256: z.string(),
  content_type: z.string(),
  ...FileKind.shape,
});
export type Attachment = z.infer<typeof Attachment>;

export const attachmentData = (attachment: AttachmentData) => pick(AttachmentData, attachment);

/** Returns the document of an attachment as every endpoint returns it, with the included associations. */
export const attachmentDocument = (parent: ParentRef, attachment: AttachmentData, included: object = {}) => {
  const own = parent.type === "request" && { request: { type: "request", data: { id: parent.id } } };
  const associations = { ...own, ...included };
  return {
    type: `${parent.type}_attachment`,
    data: attachmentData(attachment),
    ...(Object.keys(associations).length > 0 && { associations }),
  };
};

/** The metadata that the carrier gets with a file. */
export const SentMetadata = z.pick(Attachment, { name: true, notes: true, file_hint: true, filename: true });
export type SentMetadata = z.infer<typeof SentMetadata>;

export const sentMetadataOf = (attachment: Attachment): SentMetadata => pick(SentMetadata, attachment);

/** Whether a receipt has the attachment's current metadata. */
export const isUpToDate = ({ sent }: Pick<CarrierReceipt, "sent">, attachment: Attachment): boolean =>
  isDeepStrictEqual(sent, sentMetadataOf(attachment));

/** The media types that a carrier takes as a letter of authorization, each with its name. */
const letterTypes = new Map([
  ["application/pdf", "PDF"],
  ["image/tiff", "TIFF"],
  ["image/png", "PNG"],
  ["image/jpeg", "JPEG"],
]);

/** Returns why a carrier may refuse a letter of authorization days later, or null if no reason is known. Only operators see it. */
export const warningOf = ({ file_hint, detected_type, encrypted }: Attachment): string | null => {
  if (file_hint !== "LOA") return null;
  if (encrypted === true) return "The letter of authorization is encrypted.";
  if (detected_type === "application/pdf" && encrypted === null)
    return "Whether the letter of authorization is encrypted is not known.";
  if (letterTypes.has(detected_type ?? "")) return null;
  const names = new Intl.ListFormat("en-GB", { type: "disjunction" }).format(letterTypes.values());
  return `The letter of authorization is not a ${names}.`;
};

export const FileData = z.object({
  bytes: z.int(),
  content_type: z.string(),
  sha256: z.string(),
  ...FileKind.shape,
});

/** The states of forwarding, the least advanced first. */
export const ForwardingState = z.enum(["none", "pending", "refused", "withdrawn", "forwarded"]);
export type ForwardingState = z.infer<typeof ForwardingState>;

/** The association `forwarding` of an attachment. It has the state at the carrier, overall and by request. */
export const ForwardingData = z.object({
  state: ForwardingState,
  requests: z
    .array(z.object({ id: Ulid, state: ForwardingState, at: z.nullable(Timestamp), reason: z.nullable(z.string()) }))
    .check(z.maxLength(limits.forwardingRequests)),
  requests_total: z.int().check(z.minimum(0)),
});
export type ForwardingData = z.infer<typeof ForwardingData>;

/**
 * The state of an attachment at the carrier under one request. It has those properties of a checkout's receipt that callers may
 * see.
 */
export const CarrierReceipt = z.object({
  state: z.enum(["pending", "forwarded", "withdrawn", "refused"]),
  at: z.string(),
  /** The text about a refusal that the carrier or the malware scan has for the customer. */
  reason: z._default(z.nullable(z.string()), null),
  sent: SentMetadata,
});
export type CarrierReceipt = z.infer<typeof CarrierReceipt>;

export const UploadedFile = z
  .object(
    {
      content: z.custom<Uint8Array>((value) => value instanceof Uint8Array, "must be bytes"),
      sha256: z.string(),
      filename: z.string(),
      contentType: z.string(),
    },
    { error: ({ input }) => (input === undefined ? undefined : "must be a file: a part with a filename") },
  )
  .check(
    z.refine<{ content: Uint8Array }>(({ content }) => content.length > 0, {
      error: "can't be empty",
      params: { sub_code: "constraint.length", minimum: 1 },
    }),
  );

export type UploadedFile = z.infer<typeof UploadedFile>;

export const uploadedFile = (content: Buffer, filename: string | undefined, mediaType: string): UploadedFile => ({
  // A plain Uint8Array over the same bytes, because JSON.stringify converts a Buffer to an array of numbers before it calls a replacer.
  content: new Uint8Array(content.buffer, content.byteOffset, content.length),
  sha256: createHash("sha256").update(content).digest("hex"),
  filename: cleanFilename(filename),
  // Falls back to the generic type if a header cannot contain this one.
  contentType: z.safeParse(MediaType, mediaType).data ?? "application/octet-stream",
});

/** Reduces an uploaded file's name to its cleaned base name, of any length. A file without a name is called `attachment`. */
const cleanFilename = (name: string | undefined): string => {
  const base = (name ?? "").split(/[/\\]/).at(-1) ?? "";
  const clean = base.replaceAll(new RegExp(`[${controlCharacters}]`, "g"), "").trim();
  return /^\.{0,2}$/.test(clean) ? "attachment" : clean;
};

/** The properties of a new attachment except its file. `filename` defaults to the name of the uploaded file. */
export const NewMetadata = z.object({ ...metadata, filename: z.optional(padded(Filename)) });
export type NewMetadata = z.infer<typeof NewMetadata>;

/** A new attachment as a form sends it. */
export const NewAttachment = z.object({ file: UploadedFile, ...NewMetadata.shape });

/** Enforces the stage's limit, which is read for each request. The other two rules of UploadBytes are for openapi.json. */
const withinUploadLimit = z.refine<number>((bytes) => bytes >= 1 && bytes <= env.maxUploadBytes(), {
  error: ({ input }) => (Number(input) < 1 ? "must be at least 1" : `must be at most ${env.maxUploadBytes()}`),
  abort: true,
  params: {
    sub_code: "constraint.range",
    minimum: 1,
    get maximum() {
      return env.maxUploadBytes();
    },
  },
});

export const UploadBytes = z.int().check(withinUploadLimit, z.minimum(1), z.maximum(limits.uploadBytes));

/** The file of a direct upload, as announced by the caller. */
export const UploadFile = z.object({
  filename: padded(Filename),
  content_type: z._default(MediaType, "application/octet-stream"),
  bytes: UploadBytes,
  sha256: z.string().check(z.regex(/^[0-9a-fA-F]{64}$/, { error: "must be 64 hexadecimal digits" }), z.toLowerCase()),
});
export type UploadFile = z.infer<typeof UploadFile>;

/** A direct upload as it is stored, without input rules, because limits may have changed since. */
export const Upload = z.object({
  ...withoutRules(UploadFile.shape),
  id: z.string(),
  inserted_at: z.string(),
  state: z.enum(["open", "claimed"]),
});
export type Upload = z.infer<typeof Upload>;

/** Returns the time by which the file must be sent and the upload completed. */
export const uploadExpiry = ({ inserted_at }: Pick<Upload, "inserted_at">) =>
  new Date(Date.parse(inserted_at) + limits.uploadSeconds * 1000);
