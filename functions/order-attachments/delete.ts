import { deletableAttachmentGuard } from "../../shared/attachments/access.ts";
import { attachmentDocument, deleteAttachment } from "../../shared/attachments/attachments.ts";
import { single } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { deleteOrderAttachment as route } from "../../shared/routes.ts";

export const handler = endpoint(route, deletableAttachmentGuard(route), async ({ parent, current, precondition }) => {
  const attachment = await deleteAttachment(parent, current, precondition);
  return single(attachmentDocument(parent, attachment), attachment.version);
});
