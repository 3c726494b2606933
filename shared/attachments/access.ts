import type { APIGatewayProxyEvent } from "aws-lambda";
import * as z from "zod/mini";
import { attachmentsDisabled, invalid, notFound, permissionMissing } from "../errors.ts";
import { type Guard, type Principal, pathId } from "../http/request.ts";
import { ownPermission, parentPermissions, type Route } from "../routes.ts";
import { collections, keys, type ParentRef, type ParentType } from "../table/keys.ts";
import type { Page } from "../table/page-query.ts";
import { pageRequest, readPage } from "../table/pages.ts";
import { get, getMany } from "../table/read.ts";
import { holds, sees } from "../tenants/accounts.ts";
import { type Parent, readParent } from "../tenants/orders.ts";
import { Attachment } from "./schema.ts";

/** The guards of attachments: the parent's visibility, its account's feature, both permissions, then the attachment. */

type AttachmentRoute = Route & { readonly parent: ParentType };

const parentOf = (route: AttachmentRoute, event: APIGatewayProxyEvent) => {
  const { shown, id } = pathId(event, `${route.parent}_id`);
  const ref: ParentRef = { type: route.parent, id };
  const admit = (parent: Parent | undefined, { key, user }: Principal): Parent => {
    if (!parent || !sees(key.account, parent.account)) throw notFound(route.parent, shown);
    if (!parent.account.features.ordering_attachment_access) throw attachmentsDisabled(parent.account.id);
    const missing = [parentPermissions[route.parent][parent.state], ownPermission(route)].find((p) => !holds(user, p));
    if (missing) throw permissionMissing(missing);
    return parent;
  };
  return { ref, admit };
};

/** For creating under a parent. */
export const parentGuard =
  (route: AttachmentRoute): Guard<{ parent: Parent }> =>
  async (event) => {
    const { ref, admit } = parentOf(route, event);
    const parent = await readParent(ref);
    return (principal) => ({ parent: admit(parent, principal) });
  };

/** For showing and updating one attachment. */
export const attachmentGuard =
  (route: AttachmentRoute): Guard<{ parent: Parent; current: Attachment }> =>
  async (event) => {
    const { ref, admit } = parentOf(route, event);
    const { shown, id } = pathId(event, "attachment_id");
    const [parent, item] = await Promise.all([readParent(ref), get(keys.attachment(ref, id))]);
    return (principal) => {
      const admitted = admit(parent, principal);
      if (!item) throw notFound(route.resource, shown);
      return { parent: admitted, current: z.parse(Attachment, item) };
    };
  };

/** For deleting one attachment, or finishing the delete of one whose file could not be removed. */
export const deletableAttachmentGuard =
  (route: AttachmentRoute): Guard<{ parent: Parent; current: Attachment & { unfinished: boolean } }> =>
  async (event) => {
    const { ref, admit } = parentOf(route, event);
    const { shown, id } = pathId(event, "attachment_id");
    const [parent, [stored, unfinished]] = await Promise.all([
      readParent(ref),
      getMany([keys.attachment(ref, id), keys.unfinishedDelete(ref, id)]),
    ]);
    return (principal) => {
      const admitted = admit(parent, principal);
      const item = stored ?? unfinished;
      if (!item) throw notFound(route.resource, shown);
      return { parent: admitted, current: { ...z.parse(Attachment, item), unfinished: !stored } };
    };
  };

/** For listing: the page is read beside the parent. */
export const attachmentListGuard =
  (route: AttachmentRoute): Guard<{ parent: Parent; page: Page<Attachment> }> =>
  async (event) => {
    const { ref, admit } = parentOf(route, event);
    const list = collections.attachments(ref);
    const asked = pageRequest(list, event.queryStringParameters ?? {});
    const [parent, page] = await Promise.all([
      readParent(ref),
      asked.faults ? undefined : readPage(list, asked.value, (item) => z.parse(Attachment, item)),
    ]);
    return (principal) => {
      const admitted = admit(parent, principal);
      if (!page) throw invalid(asked.faults ?? []);
      return { parent: admitted, page };
    };
  };
