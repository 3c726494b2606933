import { attachmentsDisabled, notFound, permissionMissing } from "../errors.ts";
import type { Route } from "../route.ts";
import type { Item } from "../table/expressions.ts";
import { type Key, keys, type ParentRef, type ParentType } from "../table/keys.ts";
import { getMany, parseItem } from "../table/read.ts";
import type { AccessCheck, Lookup, PathId, Principal } from "../tenants/access.ts";
import { type Parent, readParent } from "../tenants/orders.ts";
import { canAccess, hasPermission } from "../tenants/tenant-schema.ts";
import { Attachment, Upload, uploadExpiry } from "./attachment-schema.ts";
import { parentPermissions } from "./routes.ts";

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

/** The parent that the path names. 404 if that is not an id. */
export const parentRef = ({ pathId }: Lookup, type: ParentType) => {
  const parentId = pathId(`${type}_id`);
  if (parentId.id === undefined) throw notFound(type, parentId.requestedId);
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

type FoundItem = FoundParent & { readonly itemId: PathId; readonly items: readonly (Item | undefined)[] };

/** For what the path parameter `name` identifies below the parent. `found` returns it from its items, if it exists. */
// @__NO_SIDE_EFFECTS__
const below = <R extends AttachmentRoute, T extends object>(
  name: string,
  keysOf: (ref: ParentRef, id: string) => readonly Key[],
  found: (items: FoundItem["items"], now: Date) => T | undefined,
): AccessCheck<R, FoundItem, Scope & T> => ({
  load: async (lookup, { parent: type }) => {
    const { parentId, ref } = parentRef(lookup, type);
    const itemId = lookup.pathId(name);
    const itemKeys = itemId.id === undefined ? [] : keysOf(ref, itemId.id);
    const [parent, items] = await Promise.all([readParent(ref), getMany(itemKeys)]);
    return { parentId, parent, itemId, items };
  },
  admit: ({ itemId, items, ...loaded }, principal, route, now) => {
    const scope = admitParent(route, loaded, principal);
    const item = found(items, now);
    if (!item) throw notFound(route.on === "upload" ? "upload" : route.resource, itemId.requestedId);
    return { ...scope, ...item };
  },
});

/** For showing and updating one attachment. */
export const oneAttachment = below<ItemRoute, { readonly current: Attachment }>(
  "attachment_id",
  (ref, id) => [keys.attachment(ref, id)],
  ([item]) => item && { current: parseItem(Attachment, item) },
);

/** For completing a direct upload of the parent. 404 also if the upload has expired without being used. */
export const uploadOfParent = below<UploadRoute, { readonly upload: Upload }>(
  "upload_id",
  (ref, id) => [keys.upload(ref, id)],
  ([item], now) => {
    const upload = item && parseItem(Upload, item);
    const isGone = !upload || (upload.state === "open" && uploadExpiry(upload) <= now);
    return isGone ? undefined : { upload };
  },
);

/** An attachment. If `unfinished`, its metadata are deleted, but its file could not be removed yet. */
type Deletable = Attachment & { readonly unfinished: boolean };

/** For deleting one attachment, or finishing the delete of one whose file could not be removed. */
export const deletableAttachment = below<DeleteRoute, { readonly current: Deletable }>(
  "attachment_id",
  (ref, id) => [keys.attachment(ref, id), keys.unfinishedDelete(ref, id)],
  ([stored, unfinished], now) => {
    const isExpired = Number(unfinished?.expires_at) * 1000 <= now.getTime();
    const item = stored ?? (isExpired ? undefined : unfinished);
    return item && { current: { ...parseItem(Attachment, item), unfinished: !stored } };
  },
);
