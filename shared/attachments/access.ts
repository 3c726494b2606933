import { attachmentsDisabled, notFound, permissionMissing } from "../errors.ts";
import type { Route } from "../route.ts";
import type { Item } from "../table/expressions.ts";
import { type Key, keys, type ParentRef, type ParentType } from "../table/keys.ts";
import { getMany, parseItem } from "../table/read.ts";
import type { AccessCheck, Check, Checks, Given, PathId, Principal } from "../tenants/access.ts";
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
export const parentRef = ({ pathId }: Given, type: ParentType) => {
  const parentId = pathId(`${type}_id`);
  if (parentId.id === undefined) throw notFound(type, parentId.requestedId);
  const ref: ParentRef = { type, id: parentId.id };
  return { parentId, ref };
};

/** What every endpoint of attachments gets: the parent, and the account that owns it. */
type OfParent = { readonly parent: Parent; readonly owner: string };

function* admitParent(
  { parent: type, permission }: AttachmentRoute,
  { parentId, parent }: FoundParent,
  { apiKey, user }: Principal,
): Checks<OfParent> {
  yield [`the ${type} exists`, parentId.requestedId];
  if (!parent) throw notFound(type, parentId.requestedId);
  const { account, state } = parent;
  yield [`the ${type}'s account is the key's or below it`, account.id];
  if (!canAccess(apiKey.account, account)) throw notFound(type, parentId.requestedId);
  yield [`the ${type}'s account has Ordering Attachment Access`, account.id];
  if (!account.features.ordering_attachment_access) throw attachmentsDisabled(account.id);
  for (const needed of [parentPermissions[type][state], permission]) {
    yield ["the user has the permission", needed];
    if (!hasPermission(user, needed)) throw permissionMissing(needed);
  }
  return { parent, owner: account.id };
}

export const attachmentParent: AccessCheck<CollectionRoute, FoundParent, OfParent> = {
  load: async (given, { parent: type }) => {
    const { parentId, ref } = parentRef(given, type);
    return { parentId, parent: await readParent(ref) };
  },
  admit: (found, principal, route) => admitParent(route, found, principal),
};

type FoundItems = FoundParent & { readonly items: readonly (Item | undefined)[]; readonly requestedId: string };

/** Reads the parent and, in the same round trips, the items that the path parameter `name` stands for. None if that is not an id. */
const loadBelow = async (
  given: Given,
  type: ParentType,
  name: "attachment_id" | "upload_id",
  keysOf: (ref: ParentRef, id: string) => readonly Key[],
): Promise<FoundItems> => {
  const { parentId, ref } = parentRef(given, type);
  const { id, requestedId } = given.pathId(name);
  const [parent, items] = await Promise.all([readParent(ref), getMany(id === undefined ? [] : keysOf(ref, id))]);
  return { parentId, parent, items, requestedId };
};

const existence = ({ document, parent, on }: AttachmentRoute, { requestedId }: FoundItems): Check => [
  `the ${on === "upload" ? on : document} exists below the ${parent}`,
  requestedId,
];

export const oneAttachment: AccessCheck<ItemRoute, FoundItems, OfParent & { readonly current: Attachment }> = {
  load: (given, { parent }) => loadBelow(given, parent, "attachment_id", (ref, id) => [keys.attachment(ref, id)]),
  *admit(found, principal, route) {
    const admitted = yield* admitParent(route, found, principal);
    const [item] = found.items;
    yield existence(route, found);
    if (!item) throw notFound(route.resource, found.requestedId);
    return { ...admitted, current: parseItem(Attachment, item) };
  },
};

/** For completing a direct upload of the parent. 404 also if the upload has expired without being used. */
export const uploadOfParent: AccessCheck<UploadRoute, FoundItems, OfParent & { readonly upload: Upload }> = {
  load: (given, { parent }) => loadBelow(given, parent, "upload_id", (ref, id) => [keys.upload(ref, id)]),
  *admit(found, principal, route, now) {
    const admitted = yield* admitParent(route, found, principal);
    const [item] = found.items;
    yield existence(route, found);
    const upload = item && parseItem(Upload, item);
    if (!upload || (upload.state === "open" && uploadExpiry(upload) <= now))
      throw notFound("upload", found.requestedId);
    return { ...admitted, upload };
  },
};

/** An attachment. If `unfinished`, its metadata are deleted, but its file could not be removed yet. */
type Deletable = Attachment & { readonly unfinished: boolean };

/** For deleting one attachment, or finishing the delete of one whose file could not be removed. */
export const deletableAttachment: AccessCheck<DeleteRoute, FoundItems, OfParent & { readonly current: Deletable }> = {
  load: (given, { parent }) =>
    loadBelow(given, parent, "attachment_id", (ref, id) => [keys.attachment(ref, id), keys.unfinishedDelete(ref, id)]),
  *admit(found, principal, route, now) {
    const admitted = yield* admitParent(route, found, principal);
    yield existence(route, found);
    const [stored, unfinished] = found.items;
    const isExpired = Number(unfinished?.expires_at) * 1000 <= now.getTime();
    const item = stored ?? (isExpired ? undefined : unfinished);
    if (!item) throw notFound(route.resource, found.requestedId);
    return { ...admitted, current: { ...parseItem(Attachment, item), unfinished: !stored } };
  },
};
