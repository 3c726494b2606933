import * as z from "zod/mini";
import { Ulid } from "../schema/fields.ts";
import { AttachmentData } from "./schema.ts";

/** The response documents of attachments, by type of resource: for the OpenAPI document and the tests. No function loads them. */
export const attachmentDocuments = {
  request_attachment: z.object({
    type: z.literal("request_attachment"),
    data: AttachmentData,
    associations: z.object({ request: z.object({ type: z.literal("request"), data: z.object({ id: Ulid }) }) }),
  }),
  order_attachment: z.object({ type: z.literal("order_attachment"), data: AttachmentData }),
} as const;
