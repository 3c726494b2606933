import * as z from "zod/mini";
import { AttachmentData } from "../../shared/attachments/schema.ts";
import { Ulid } from "../../shared/schema/fields.ts";
import { SwitchData } from "../../shared/switches/schema.ts";

/** What the endpoints answer, as schemas: for OpenAPI, clients and tests. No function loads them. */

const whole = () => z.int().check(z.minimum(0));

export const PageInfo = z.object({
  after: z.nullable(z.string()),
  before: z.nullable(z.string()),
  limit: whole(),
  total: whole(),
});

const RequestAttachmentDocument = z.object({
  type: z.literal("request_attachment"),
  data: AttachmentData,
  associations: z.object({ request: z.object({ type: z.literal("request"), data: z.object({ id: Ulid }) }) }),
});

const OrderAttachmentDocument = z.object({ type: z.literal("order_attachment"), data: AttachmentData });

/** The document of each kind of resource. */
export const documents = {
  request_attachment: RequestAttachmentDocument,
  order_attachment: OrderAttachmentDocument,
  switch: z.object({ type: z.literal("switch"), data: SwitchData }),
} as const;

/** The list envelope around documents of one kind. */
export const listOf = <T extends z.core.$ZodType>(document: T) =>
  z.object({ type: z.literal("list"), data: z.object({ items: z.array(document), page_info: PageInfo }) });
