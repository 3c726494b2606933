import { attachmentGuard } from "../../shared/attachments/access.ts";
import { attachmentDocument } from "../../shared/attachments/attachments.ts";
import { single } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { showRequestAttachment as route } from "../../shared/routes.ts";

export const handler = endpoint(route, attachmentGuard(route), ({ parent, current }) =>
  single(attachmentDocument(parent, current), current.version),
);
