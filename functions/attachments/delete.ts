import { deletableAttachment } from "../../shared/attachments/access.ts";
import { attachmentDocument } from "../../shared/attachments/attachment-schema.ts";
import { deleteAttachment } from "../../shared/attachments/attachments.ts";
import { deleteAttachmentRoutes } from "../../shared/attachments/routes.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";
import type { ParentType } from "../../shared/table/keys.ts";

const endpointOf = (type: ParentType) =>
  endpoint(deleteAttachmentRoutes[type], deletableAttachment, async ({ parent, current, origin, precondition }) => {
    const attachment = await deleteAttachment(parent, current, origin, precondition);
    return documentReply(attachmentDocument(parent, attachment), attachment.version, { bytes: attachment.bytes });
  });

export const request = endpointOf("request");
export const order = endpointOf("order");
