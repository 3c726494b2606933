import middy from "@middy/core";
import type { APIGatewayProxyResult } from "aws-lambda";
import { describe, expect, it } from "vitest";
import {
  attachmentParent,
  deletableAttachment,
  oneAttachment,
  uploadOfParent,
} from "../../../shared/attachments/access.ts";
import { attachmentPage, listParent } from "../../../shared/attachments/list.ts";
import {
  completeUploadRoutes,
  createAttachmentRoutes,
  deleteAttachmentRoutes,
  showAttachmentRoutes,
} from "../../../shared/attachments/routes.ts";
import { type AuthenticatedEvent, authentication } from "../../../shared/http/authentication.ts";
import { endpoint, withPage } from "../../../shared/http/endpoint.ts";
import { withForm } from "../../../shared/http/form.ts";
import { readJson } from "../../../shared/http/input.ts";
import type { RequestEvent } from "../../../shared/http/request.ts";
import { respond } from "../../../shared/http/responses.ts";
import { accountOfSwitches, countedAccountOfSwitches, oneSwitch } from "../../../shared/switches/access.ts";
import { createSwitchRoutes, listSwitchesRoutes, updateSwitchRoute } from "../../../shared/switches/routes.ts";

/** Wrong combinations do not compile, and those in `functions/` do. `npm run check` verifies both. */

const reply = () => ({ body: {} });

describe("an endpoint", () => {
  it("does not compile with the access check of another operation, parent or resource", () => {
    const handlers = [
      // @ts-expect-error a form has no upload in its path
      endpoint(withForm(createAttachmentRoutes.request), uploadOfParent, reply),
      // @ts-expect-error an upload in the path is looked up
      endpoint(completeUploadRoutes.request, attachmentParent, reply),
      // @ts-expect-error a create has no attachment in its path
      endpoint(withForm(createAttachmentRoutes.request), oneAttachment, reply),
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
      endpoint({ ...createSwitchRoutes.own, readBody: readJson }, accountOfSwitches, reply),
      // @ts-expect-error JSON is not read as a form
      withForm(createSwitchRoutes.own),
      // @ts-expect-error only lists have pages
      endpoint(withForm(createAttachmentRoutes.request), withPage(listParent, attachmentPage), reply),
      // @ts-expect-error attachments are listed below an order or a request
      endpoint(listSwitchesRoutes.own, withPage(countedAccountOfSwitches, attachmentPage), reply),
    ];
    expect(handlers).toHaveLength(5);
  });

  it("does not compile without authentication, nor with a check of what the caller may do before it", () => {
    const layers = () => middy<RequestEvent, APIGatewayProxyResult>().use(respond(updateSwitchRoute));
    const handle = async (_: AuthenticatedEvent<unknown, unknown>) => ({ statusCode: 200, body: "" });
    const found = { switchId: { id: undefined, requestedId: "" }, owner: undefined };
    const attempt = { route: updateSwitchRoute, now: new Date(), note: () => {} };
    const mistakes = [
      // @ts-expect-error nobody has read the API key
      () => layers().handler(handle),
      // @ts-expect-error the caller is not known yet
      () => oneSwitch.admit(found, undefined, attempt),
    ];
    expect([...mistakes, layers().use(authentication(updateSwitchRoute, oneSwitch)).handler(handle)]).toHaveLength(3);
  });
});
