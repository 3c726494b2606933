import { oneAttachment } from "../../shared/attachments/access.ts";
import { includedAssociations } from "../../shared/attachments/associations.ts";
import { attachmentDocument } from "../../shared/attachments/attachment-schema.ts";
import { showAttachmentRoutes } from "../../shared/attachments/routes.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";
import type { ParentType } from "../../shared/table/keys.ts";

const endpointOf = (type: ParentType) =>
  endpoint(showAttachmentRoutes[type], oneAttachment, async ({ parent, current, input }) => {
    const included = (await includedAssociations(parent, [current], input.include))(current);
    return documentReply(attachmentDocument(parent, current, included), current.version, { included });
  });

export const request = endpointOf("request");
export const order = endpointOf("order");
