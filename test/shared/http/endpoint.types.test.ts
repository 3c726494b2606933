import { describe, expect, it } from "vitest";
import {
  attachmentParent,
  deletableAttachment,
  oneAttachment,
  uploadOfParent,
} from "../../../shared/attachments/access.ts";
import { attachmentPage } from "../../../shared/attachments/list.ts";
import {
  completeUploadRoutes,
  createAttachmentRoutes,
  deleteAttachmentRoutes,
  showAttachmentRoutes,
} from "../../../shared/attachments/routes.ts";
import { endpoint, listEndpoint, uploadEndpoint } from "../../../shared/http/endpoint.ts";
import { accountOfSwitches } from "../../../shared/switches/access.ts";
import { createSwitchRoutes, updateSwitchRoute } from "../../../shared/switches/routes.ts";

/** A route with the wrong access check or the wrong reader does not compile, as `npm run check` finds. The functions' own do. */

const reply = () => ({ body: {} });

describe("an endpoint", () => {
  it("does not compile with the access check of another operation, parent or resource", () => {
    const handlers = [
      // @ts-expect-error a form has no upload in its path
      uploadEndpoint(createAttachmentRoutes.request, uploadOfParent, reply),
      // @ts-expect-error an upload in the path is looked up
      endpoint(completeUploadRoutes.request, attachmentParent, reply),
      // @ts-expect-error a create has no attachment in its path
      uploadEndpoint(createAttachmentRoutes.request, oneAttachment, reply),
      // @ts-expect-error a deletable attachment is loaded for deletes only
      endpoint(showAttachmentRoutes.request, deletableAttachment, reply),
      // @ts-expect-error a delete may have to finish an earlier one
      endpoint(deleteAttachmentRoutes.order, oneAttachment, reply),
      // @ts-expect-error a switch is not an attachment
      endpoint(updateSwitchRoute, oneAttachment, reply),
      // @ts-expect-error a switch in the path is looked up
      endpoint(updateSwitchRoute, accountOfSwitches, reply),
    ];
    expect(handlers).toHaveLength(7);
  });

  it("does not compile with a reader that its route does not have", () => {
    const handlers = [
      // @ts-expect-error a form is not read as JSON
      endpoint(createAttachmentRoutes.request, attachmentParent, reply),
      // @ts-expect-error JSON is not read as a form
      uploadEndpoint(createSwitchRoutes.own, accountOfSwitches, reply),
      // @ts-expect-error only lists have pages
      listEndpoint(createAttachmentRoutes.request, attachmentParent, attachmentPage, reply),
    ];
    expect(handlers).toHaveLength(3);
  });
});
