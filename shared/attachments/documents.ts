import * as z from "zod/mini";
import { Timestamp, Ulid } from "../schema/fields.ts";
import { AttachmentData, FileData, ForwardingData, UploadFile } from "./schema.ts";

/** The schemas of response documents, by type, for the OpenAPI document and the tests. No function loads this file. */

/** The associations that `include` adds. */
const included = {
  file: z.optional(z.object({ type: z.literal("file"), data: FileData })),
  forwarding: z.optional(z.object({ type: z.literal("forwarding"), data: ForwardingData })),
};

export const attachmentDocuments = {
  request_attachment: z.object({
    type: z.literal("request_attachment"),
    data: AttachmentData,
    associations: z.object({
      request: z.object({ type: z.literal("request"), data: z.object({ id: Ulid }) }),
      ...included,
    }),
  }),
  order_attachment: z.object({
    type: z.literal("order_attachment"),
    data: AttachmentData,
    associations: z.optional(z.object(included)),
  }),
  upload: z.object({
    type: z.literal("upload"),
    data: z.object({
      id: Ulid,
      filename: z.string(),
      content_type: z.string(),
      bytes: UploadFile.shape.bytes,
      sha256: z.string(),
      method: z.literal("PUT"),
      url: z.url(),
      headers: z.record(z.string(), z.string()),
      expires_at: Timestamp,
    }),
  }),
} as const;
