import { attachmentParent } from "../../shared/attachments/access.ts";
import { attachmentDocument } from "../../shared/attachments/attachments.ts";
import { includedAssociations } from "../../shared/attachments/include.ts";
import { attachmentPage } from "../../shared/attachments/list.ts";
import { listRequestAttachmentsRoute as route } from "../../shared/attachments/routes.ts";
import { listEndpoint } from "../../shared/http/endpoint.ts";
import { listReply } from "../../shared/http/responses.ts";

export const handler = listEndpoint(route, attachmentParent, attachmentPage, async ({ parent, page, query }) => {
  const included = await includedAssociations(parent, page.items, query.include);
  return listReply(page, page.total ?? parent.attachment_count, (attachment) =>
    attachmentDocument(parent, attachment, included(attachment)),
  );
});
