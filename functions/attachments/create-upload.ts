import { attachmentParent } from "../../shared/attachments/access.ts";
import { createUploadRoutes } from "../../shared/attachments/routes.ts";
import { createUpload } from "../../shared/attachments/uploads.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { createdReply } from "../../shared/http/responses.ts";
import type { ParentType } from "../../shared/table/keys.ts";

const endpointOf = (type: ParentType) =>
  endpoint(createUploadRoutes[type], attachmentParent, async ({ parent, input, origin, idempotency }) => {
    const { document, replayed } = await createUpload(parent, input.data, origin.now, idempotency);
    return createdReply(document, { version: 1 }, replayed);
  });

export const request = endpointOf("request");
export const order = endpointOf("order");
