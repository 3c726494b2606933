import { uploadOfParent } from "../../shared/attachments/access.ts";
import { attachmentDocument } from "../../shared/attachments/attachment-schema.ts";
import { completeUpload } from "../../shared/attachments/attachments.ts";
import { completeUploadRoutes } from "../../shared/attachments/routes.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { createdReply } from "../../shared/http/responses.ts";
import type { ParentType } from "../../shared/table/keys.ts";

const endpointOf = (type: ParentType) =>
  endpoint(completeUploadRoutes[type], uploadOfParent, async ({ parent, upload, input, origin, idempotency }) => {
    const { attachment, replayed } = await completeUpload(parent, upload, input.data, origin, idempotency);
    return createdReply(attachmentDocument(parent, attachment), attachment, replayed);
  });

export const request = endpointOf("request");
export const order = endpointOf("order");
