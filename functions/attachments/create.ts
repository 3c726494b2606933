import { attachmentParent } from "../../shared/attachments/access.ts";
import { attachmentDocument } from "../../shared/attachments/attachment-schema.ts";
import { createAttachment } from "../../shared/attachments/attachments.ts";
import { createAttachmentRoutes } from "../../shared/attachments/routes.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { withForm } from "../../shared/http/form.ts";
import { createdReply } from "../../shared/http/responses.ts";
import type { ParentType } from "../../shared/table/keys.ts";

const endpointOf = (type: ParentType) =>
  endpoint(withForm(createAttachmentRoutes[type]), attachmentParent, async ({ parent, input, origin, idempotency }) => {
    const { attachment, replayed } = await createAttachment(parent, input.data, origin, idempotency);
    return createdReply(attachmentDocument(parent, attachment), attachment, replayed);
  });

export const request = endpointOf("request");
export const order = endpointOf("order");
