import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { isSame, isSameId, nonBlankText, Timestamp, text, Ulid, Uuid, withoutRules } from "../schema/fields.ts";

export const FileHint = z.enum(["DEFAULT", "LOA"]);

/** An empty text is none. */
const Notes = z.pipe(
  z.nullable(text(limits.notesLength)),
  z.transform((notes) => notes || null),
);

/** 1 to 255 characters without path separators or control characters, and not a name that means a folder. */
const Filename = text(limits.filenameLength).check(
  z.minLength(1),
  z.regex(/^(?!\.{1,2}$|\s+$)/, { error: "must not be blank, . or .." }),
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  z.regex(/^[^/\\\u0000-\u001f\u007f-\u009f]*$/, { error: "must not contain /, \\ or control characters" }),
);

/** What a caller sees of an attachment: `data` of its document. */
export const AttachmentData = z.object({
  id: Ulid,
  name: z.string(),
  notes: z.nullable(z.string()),
  file_hint: FileHint,
  reference_id: z.nullable(Uuid),
  filename: z.string(),
  inserted_at: Timestamp,
  updated_at: Timestamp,
});
export type AttachmentData = z.infer<typeof AttachmentData>;

/** An attachment as the table keeps it. `version` counts its writes and is its ETag, `writers` names the last ones; the last three describe its file. A property added here has a default: items that are older lack it. */
export const Attachment = z.object({
  ...withoutRules(AttachmentData.shape),
  version: z.number(),
  writers: z.optional(z.array(z.string())),
  bytes: z.number(),
  sha256: z.string(),
  content_type: z.string(),
});
export type Attachment = z.infer<typeof Attachment>;

/** A file as it came; its content is left out of JSON, where its SHA-256 stands for it. */
export const UploadedFile = z
  .object(
    {
      content: z.custom<Uint8Array>((value) => value instanceof Uint8Array),
      sha256: z.string(),
      filename: z.string(),
      contentType: z.string(),
    },
    { error: ({ input }) => (input === undefined ? undefined : "must be a file: a part with a filename") },
  )
  .check(
    z.refine<{ content: Uint8Array }>(({ content }) => content.length > 0, {
      error: "can't be empty",
      params: { sub_code: "constraint.length" },
    }),
  );

export type UploadedFile = z.infer<typeof UploadedFile>;

export const createAttachmentBody = <T extends string>(type: T) =>
  z.object({
    type: z.optional(z.literal(type)),
    data: z.object({
      file: UploadedFile,
      name: nonBlankText(limits.nameLength),
      notes: z._default(Notes, null),
      file_hint: z._default(FileHint, "DEFAULT"),
      reference_id: z._default(z.nullable(Uuid), null),
      filename: z.optional(Filename),
    }),
  });
type CreateBody = ReturnType<typeof createAttachmentBody>;
export type NewAttachment = z.infer<CreateBody>["data"];

/** The names of a form's parts: `type`, `data[file]`, `data[name]` … */
export const formParts = ({ shape }: CreateBody): string[] => [
  "type",
  ...Object.keys(shape.data.shape).map((name) => `data[${name}]`),
];

export const updateAttachmentBody = <T extends string>(type: T) =>
  z.object({
    type: z.literal(type),
    data: z.object({
      name: z.optional(nonBlankText(limits.nameLength)),
      notes: z.optional(Notes),
      file_hint: z.optional(FileHint),
    }),
  });
export type AttachmentChanges = z.infer<ReturnType<typeof updateAttachmentBody>>["data"];

/** What a PATCH may echo but not change. */
export const immutableAttachmentProperties = {
  id: isSameId,
  filename: isSame,
  reference_id: isSameId,
  inserted_at: isSame,
  updated_at: isSame,
};
