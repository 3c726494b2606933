import { deletableAttachment } from "../../shared/attachments/access.ts";
import { attachmentDocument, deleteAttachment } from "../../shared/attachments/attachments.ts";
import { deleteRequestAttachmentRoute as route } from "../../shared/attachments/routes.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";

export const handler = endpoint(route, deletableAttachment, async ({ parent, current, origin, precondition }) => {
  const attachment = await deleteAttachment(parent, current, origin, precondition);
  return documentReply(attachmentDocument(parent, attachment), attachment.version, { bytes: attachment.bytes });
});
