import { attachmentsDisabled, notFound, permissionMissing } from "../errors.ts";
import type { Route } from "../route.ts";
import type { Item } from "../table/expressions.ts";
import { type Key, keys, type ParentRef, type ParentType } from "../table/keys.ts";
import { getMany, parseItem } from "../table/read.ts";
import type { AccessCheck, Attempt, Given, PathId } from "../tenants/access.ts";
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

/** Returns the parent in the path. `ref` is undefined if its id is not a ULID. */
export const parentInPath = ({ pathId }: Given, type: ParentType) => {
  const parentId = pathId(`${type}_id`);
  const ref: ParentRef | undefined = parentId.id === undefined ? undefined : { type, id: parentId.id };
  return { parentId, ref };
};

/** The result of every access check for attachments: the parent, and the id of the account that owns it. */
type OfParent = { readonly parent: Parent; readonly owner: string };

const admitParent = (
  { parentId, parent }: FoundParent,
  { route: { parent: type, permission }, apiKey, user, note }: Attempt<AttachmentRoute>,
): OfParent => {
  note(`the ${type} exists`, parentId.requestedId);
  if (!parent) throw notFound(type, parentId.requestedId);
  const { account, state } = parent;
  note(`the ${type}'s account is the key's or below it`, account.id);
  if (!canAccess(apiKey.account, account)) throw notFound(type, parentId.requestedId);
  note(`the ${type}'s account has Ordering Attachment Access`, account.id);
  if (!account.features.ordering_attachment_access) throw attachmentsDisabled(account.id);
  for (const needed of [parentPermissions[type][state], permission]) {
    note("the user has the permission", needed);
    if (!hasPermission(user, needed)) throw permissionMissing(needed);
  }
  return { parent, owner: account.id };
};

export const attachmentParent: AccessCheck<CollectionRoute, FoundParent, OfParent> = {
  load: async (given, { parent: type }) => {
    const { parentId, ref } = parentInPath(given, type);
    return { parentId, parent: ref && (await readParent(ref)) };
  },
  admit: admitParent,
};

type FoundItems = FoundParent & { readonly items: readonly (Item | undefined)[]; readonly requestedId: string };

/** Reads the parent and, in the same round trips, the items of the path parameter `name`. Reads no items if an id is not a ULID. */
const loadBelow = async (
  given: Given,
  type: ParentType,
  name: "attachment_id" | "upload_id",
  keysOf: (ref: ParentRef, id: string) => readonly Key[],
): Promise<FoundItems> => {
  const { parentId, ref } = parentInPath(given, type);
  const { id, requestedId } = given.pathId(name);
  const wanted = ref && id !== undefined ? keysOf(ref, id) : [];
  const [parent, items] = await Promise.all([ref && readParent(ref), getMany(wanted)]);
  return { parentId, parent, items, requestedId };
};

const noteItem = ({ requestedId }: FoundItems, { route: { document, parent, on }, note }: Attempt<AttachmentRoute>) =>
  note(`the ${on === "upload" ? on : document} exists below the ${parent}`, requestedId);

export const oneAttachment: AccessCheck<ItemRoute, FoundItems, OfParent & { readonly current: Attachment }> = {
  load: (given, { parent }) => loadBelow(given, parent, "attachment_id", (ref, id) => [keys.attachment(ref, id)]),
  admit: (found, attempt) => {
    const admitted = admitParent(found, attempt);
    const [item] = found.items;
    noteItem(found, attempt);
    if (!item) throw notFound(attempt.route.resource, found.requestedId);
    return { ...admitted, current: parseItem(Attachment, item) };
  },
};

/** The access check for completing a direct upload. Also throws 404 if the upload has expired unused. */
export const uploadOfParent: AccessCheck<UploadRoute, FoundItems, OfParent & { readonly upload: Upload }> = {
  load: (given, { parent }) => loadBelow(given, parent, "upload_id", (ref, id) => [keys.upload(ref, id)]),
  admit: (found, attempt) => {
    const admitted = admitParent(found, attempt);
    const [item] = found.items;
    noteItem(found, attempt);
    const upload = item && parseItem(Upload, item);
    if (!upload || (upload.state === "open" && uploadExpiry(upload) <= attempt.now))
      throw notFound("upload", found.requestedId);
    return { ...admitted, upload };
  },
};

/** If `unfinished`, the metadata are deleted, but the file could not be removed yet. */
type Deletable = Attachment & { readonly unfinished: boolean };

/** The access check for deleting an attachment, or for completing a delete that could not remove the file. */
export const deletableAttachment: AccessCheck<DeleteRoute, FoundItems, OfParent & { readonly current: Deletable }> = {
  load: (given, { parent }) =>
    loadBelow(given, parent, "attachment_id", (ref, id) => [keys.attachment(ref, id), keys.unfinishedDelete(ref, id)]),
  admit: (found, attempt) => {
    const admitted = admitParent(found, attempt);
    noteItem(found, attempt);
    const [stored, unfinished] = found.items;
    const isExpired = Number(unfinished?.expires_at) * 1000 <= attempt.now.getTime();
    const item = stored ?? (isExpired ? undefined : unfinished);
    if (!item) throw notFound(attempt.route.resource, found.requestedId);
    return { ...admitted, current: { ...parseItem(Attachment, item), unfinished: !stored } };
  },
};
