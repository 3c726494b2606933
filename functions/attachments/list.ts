import { includedAssociations } from "../../shared/attachments/associations.ts";
import { attachmentDocument } from "../../shared/attachments/attachment-schema.ts";
import { attachmentPage, listParent } from "../../shared/attachments/list.ts";
import { listAttachmentsRoutes } from "../../shared/attachments/routes.ts";
import { endpoint, withPage } from "../../shared/http/endpoint.ts";
import { listReply } from "../../shared/http/responses.ts";
import type { ParentType } from "../../shared/table/keys.ts";

const endpointOf = (type: ParentType) =>
  endpoint(listAttachmentsRoutes[type], withPage(listParent, attachmentPage), async ({ parent, input, page }) => {
    const found = await page;
    const included = await includedAssociations(parent, found.items, input.include);
    return listReply(found, found.total ?? parent.attachment_count, (attachment) =>
      attachmentDocument(parent, attachment, included(attachment)),
    );
  });

export const request = endpointOf("request");
export const order = endpointOf("order");
