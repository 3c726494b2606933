import { oneAttachment } from "../../shared/attachments/access.ts";
import { attachmentDocument } from "../../shared/attachments/attachments.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";
import { showRequestAttachment as route } from "../../shared/routes.ts";

export const handler = endpoint(route, oneAttachment, ({ parent, current }) =>
  documentReply(attachmentDocument(parent, current), current.version),
);
