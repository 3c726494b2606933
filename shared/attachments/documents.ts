import * as z from "zod/mini";
import { Timestamp, Ulid } from "../schema/fields.ts";
import { AttachmentData, UploadFile } from "./schema.ts";

/** The response documents of attachments, by type of resource: for the OpenAPI document and the tests. No function loads them. */
export const attachmentDocuments = {
  request_attachment: z.object({
    type: z.literal("request_attachment"),
    data: AttachmentData,
    associations: z.object({ request: z.object({ type: z.literal("request"), data: z.object({ id: Ulid }) }) }),
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
  order_attachment: z.object({ type: z.literal("order_attachment"), data: AttachmentData }),
} as const;
