import { oneAttachment } from "../../shared/attachments/access.ts";
import { attachmentDocument, updateAttachment } from "../../shared/attachments/attachments.ts";
import { updateRequestAttachmentRoute as route } from "../../shared/attachments/routes.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";

export const handler = endpoint(route, oneAttachment, async ({ parent, current, input, origin, precondition }) => {
  const attachment = await updateAttachment(parent, current, input.data, origin, precondition);
  return documentReply(attachmentDocument(parent, attachment), attachment.version);
});
