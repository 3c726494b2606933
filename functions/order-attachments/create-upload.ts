import { attachmentParent } from "../../shared/attachments/access.ts";
import { createOrderUploadRoute as route } from "../../shared/attachments/routes.ts";
import { createUpload } from "../../shared/attachments/uploads.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { createdReply } from "../../shared/http/responses.ts";

export const handler = endpoint(route, attachmentParent, async ({ parent, input, origin, idempotency }) => {
  const { document, replayed } = await createUpload(parent, input.data, origin.now, idempotency);
  return createdReply(document, { version: 1 }, replayed);
});
