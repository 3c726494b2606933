import { oneAttachment } from "../../shared/attachments/access.ts";
import { attachmentDocument } from "../../shared/attachments/attachments.ts";
import { includedAssociations } from "../../shared/attachments/include.ts";
import { showOrderAttachmentRoute as route } from "../../shared/attachments/routes.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";

export const handler = endpoint(route, oneAttachment, async ({ parent, current, input }) => {
  const included = (await includedAssociations(parent, [current], input.include))(current);
  return documentReply(attachmentDocument(parent, current, included), current.version, { included });
});
