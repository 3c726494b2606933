import { uploadOfParent } from "../../shared/attachments/access.ts";
import { attachmentDocument, completeUpload } from "../../shared/attachments/attachments.ts";
import { completeRequestUploadRoute as route } from "../../shared/attachments/routes.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { createdReply } from "../../shared/http/responses.ts";

export const handler = endpoint(route, uploadOfParent, async ({ parent, upload, input, origin, idempotency }) => {
  const { attachment, replayed } = await completeUpload(parent, upload, input.data, origin, idempotency);
  return createdReply(attachmentDocument(parent, attachment), attachment, replayed);
});
