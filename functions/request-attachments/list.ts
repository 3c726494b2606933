import { attachmentParent } from "../../shared/attachments/access.ts";
import { attachmentDocument } from "../../shared/attachments/attachments.ts";
import { attachmentPage } from "../../shared/attachments/list.ts";
import { listEndpoint } from "../../shared/http/endpoint.ts";
import { listReply } from "../../shared/http/responses.ts";
import { listRequestAttachments as route } from "../../shared/routes.ts";

export const handler = listEndpoint(route, attachmentParent, attachmentPage, ({ parent, page }) =>
  listReply(page, parent.attachment_count, (attachment) => attachmentDocument(parent, attachment)),
);
