import * as z from "zod/mini";
import { Ulid } from "../schema/fields.ts";
import { AttachmentData, FileData, ForwardingData } from "./schema.ts";

/** The response documents of attachments, by type of resource: for the OpenAPI document and the tests. No function loads them. */

/** What `include` adds. */
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
} as const;
