import { attachmentListGuard } from "../../shared/attachments/access.ts";
import { attachmentDocument } from "../../shared/attachments/attachments.ts";
import { list } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { listOrderAttachments as route } from "../../shared/routes.ts";

export const handler = endpoint(route, attachmentListGuard(route), ({ parent, page }) =>
  list(page, parent.attachment_count, (attachment) => attachmentDocument(parent, attachment)),
);
