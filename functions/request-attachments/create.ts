import { attachmentParent } from "../../shared/attachments/access.ts";
import { attachmentDocument, createAttachment } from "../../shared/attachments/attachments.ts";
import { createRequestAttachmentRoute as route } from "../../shared/attachments/routes.ts";
import { uploadEndpoint } from "../../shared/http/form.ts";
import { createdReply } from "../../shared/http/responses.ts";

export const handler = uploadEndpoint(route, attachmentParent, async ({ parent, input, origin, idempotency }) => {
  const { attachment, replayed } = await createAttachment(parent, input.data, origin, idempotency);
  return createdReply(attachmentDocument(parent, attachment), attachment, replayed);
});
