import { deletableAttachment } from "../../shared/attachments/access.ts";
import { attachmentDocument, deleteAttachment } from "../../shared/attachments/attachments.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";
import { deleteRequestAttachment as route } from "../../shared/routes.ts";

export const handler = endpoint(route, deletableAttachment, async ({ parent, current, precondition }) => {
  const attachment = await deleteAttachment(parent, current, precondition);
  return documentReply(attachmentDocument(parent, attachment), attachment.version);
});
