import { oneAttachment } from "../../shared/attachments/access.ts";
import { attachmentDocument } from "../../shared/attachments/attachment-schema.ts";
import { updateAttachment } from "../../shared/attachments/attachments.ts";
import { updateAttachmentRoutes } from "../../shared/attachments/routes.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";
import type { ParentType } from "../../shared/table/keys.ts";

const endpointOf = (type: ParentType) =>
  endpoint(updateAttachmentRoutes[type], oneAttachment, async ({ parent, current, input, origin, precondition }) => {
    const attachment = await updateAttachment(parent, current, input.data, origin, precondition);
    return documentReply(attachmentDocument(parent, attachment), attachment.version);
  });

export const request = endpointOf("request");
export const order = endpointOf("order");
