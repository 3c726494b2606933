import { attachmentGuard } from "../../shared/attachments/access.ts";
import { attachmentDocument, updateAttachment } from "../../shared/attachments/attachments.ts";
import { single } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { updateOrderAttachment as route } from "../../shared/routes.ts";

export const handler = endpoint(
  route,
  attachmentGuard(route),
  async ({ parent, current, input, now, precondition }) => {
    const attachment = await updateAttachment(parent, current, input.data, now, precondition);
    return single(attachmentDocument(parent, attachment), attachment.version);
  },
);
