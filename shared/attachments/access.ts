import { attachmentsDisabled, notFound, permissionMissing } from "../errors.ts";
import type { Route } from "../route.ts";
import type { Item } from "../table/expressions.ts";
import { keys, type ParentRef, type ParentType } from "../table/keys.ts";
import { get, parseItem } from "../table/read.ts";
import type { AccessCheck, Lookup, PathId, Principal } from "../tenants/access.ts";
import { type Parent, readParent } from "../tenants/orders.ts";
import { canAccess, hasPermission } from "../tenants/schema.ts";
import { parentPermissions } from "./routes.ts";
import { Attachment, Upload, uploadExpiry } from "./schema.ts";

/** Access checks for attachments: access to the parent, its account's feature, both permissions, then the attachment. */

type AttachmentRoute = Route & { readonly parent: ParentType };
export type CollectionRoute = AttachmentRoute & {
  readonly operation: "index" | "create";
  readonly on: Exclude<Route["on"], "upload">;
};
type UploadRoute = AttachmentRoute & { readonly on: "upload" };
type ItemRoute = AttachmentRoute & { readonly operation: "show" | "update" };
type DeleteRoute = AttachmentRoute & { readonly operation: "delete" };

type FoundParent = { readonly parentId: PathId; readonly parent: Parent | undefined };

/** The parent that the path names. */
export const parentRef = ({ pathId }: Lookup, type: ParentType) => {
  const parentId = pathId(`${type}_id`);
  const ref: ParentRef = { type, id: parentId.id };
  return { parentId, ref };
};

/** What every endpoint of attachments gets: the parent, and the account that owns it. */
type Scope = { readonly parent: Parent; readonly owner: string };

const admitParent = (route: AttachmentRoute, { parentId, parent }: FoundParent, { apiKey, user }: Principal): Scope => {
  if (!parent || !canAccess(apiKey.account, parent.account)) throw notFound(route.parent, parentId.requestedId);
  if (!parent.account.features.ordering_attachment_access) throw attachmentsDisabled(parent.account.id);
  const needed = [parentPermissions[route.parent][parent.state], route.permission];
  const missing = needed.find((permission) => !hasPermission(user, permission));
  if (missing) throw permissionMissing(missing);
  return { parent, owner: parent.account.id };
};

/** For listing and creating under a parent. */
export const attachmentParent: AccessCheck<CollectionRoute, FoundParent, Scope> = {
  load: async (lookup, { parent: type }) => {
    const { parentId, ref } = parentRef(lookup, type);
    return { parentId, parent: await readParent(ref) };
  },
  admit: (found, principal, route) => admitParent(route, found, principal),
};

/** For showing and updating one attachment. */
export const oneAttachment: AccessCheck<
  ItemRoute,
  FoundParent & { readonly attachmentId: PathId; readonly item: Item | undefined },
  Scope & { readonly current: Attachment }
> = {
  load: async (lookup, { parent: type }) => {
    const { parentId, ref } = parentRef(lookup, type);
    const attachmentId = lookup.pathId("attachment_id");
    const [parent, item] = await Promise.all([readParent(ref), get(keys.attachment(ref, attachmentId.id))]);
    return { parentId, parent, attachmentId, item };
  },
  admit: ({ attachmentId, item, ...found }, principal, route) => {
    const scope = admitParent(route, found, principal);
    if (!item) throw notFound(route.resource, attachmentId.requestedId);
    return { ...scope, current: parseItem(Attachment, item) };
  },
};

/** For completing a direct upload of the parent. 404 also if the upload has expired without being used. */
export const uploadOfParent: AccessCheck<
  UploadRoute,
  FoundParent & { readonly uploadId: PathId; readonly item: Item | undefined },
  Scope & { readonly upload: Upload }
> = {
  load: async (lookup, { parent: type }) => {
    const { parentId, ref } = parentRef(lookup, type);
    const uploadId = lookup.pathId("upload_id");
    const [parent, item] = await Promise.all([readParent(ref), get(keys.upload(ref, uploadId.id))]);
    return { parentId, parent, uploadId, item };
  },
  admit: ({ uploadId, item, ...found }, principal, route, now) => {
    const scope = admitParent(route, found, principal);
    const upload = item && parseItem(Upload, item);
    if (!upload || (upload.state === "open" && uploadExpiry(upload) <= now))
      throw notFound("upload", uploadId.requestedId);
    return { ...scope, upload };
  },
};

/** An attachment. If `unfinished`, its metadata are deleted, but its file could not be removed yet. */
type Deletable = Attachment & { readonly unfinished: boolean };

/** For deleting one attachment, or finishing the delete of one whose file could not be removed. */
export const deletableAttachment: AccessCheck<
  DeleteRoute,
  FoundParent & { readonly attachmentId: PathId; readonly items: readonly (Item | undefined)[] },
  Scope & { readonly current: Deletable }
> = {
  load: async (lookup, { parent: type }) => {
    const { parentId, ref } = parentRef(lookup, type);
    const attachmentId = lookup.pathId("attachment_id");
    const { id } = attachmentId;
    const [parent, ...items] = await Promise.all([
      readParent(ref),
      get(keys.attachment(ref, id)),
      get(keys.unfinishedDelete(ref, id)),
    ]);
    return { parentId, parent, attachmentId, items };
  },
  admit: ({ attachmentId, items: [stored, unfinished], ...found }, principal, route) => {
    const scope = admitParent(route, found, principal);
    const item = stored ?? unfinished;
    if (!item) throw notFound(route.resource, attachmentId.requestedId);
    return { ...scope, current: { ...parseItem(Attachment, item), unfinished: !stored } };
  },
};
