import { parentGuard } from "../../shared/attachments/access.ts";
import { attachmentDocument, createAttachment } from "../../shared/attachments/attachments.ts";
import { single } from "../../shared/http/answers.ts";
import { uploadEndpoint } from "../../shared/http/upload-endpoint.ts";
import { createOrderAttachment as route } from "../../shared/routes.ts";

export const handler = uploadEndpoint(route, parentGuard(route), async ({ parent, input, now, idempotency }) => {
  const { attachment, replayed } = await createAttachment(parent, input.data, now, idempotency);
  return single(attachmentDocument(parent, attachment), attachment.version, replayed);
});
