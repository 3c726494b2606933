import { attachmentsDisabled, notFound, permissionMissing } from "../errors.ts";
import type { Route } from "../route.ts";
import type { Item } from "../table/expressions.ts";
import { type Key, keys, type ParentRef, type ParentType } from "../table/keys.ts";
import { getMany, parseItem } from "../table/read.ts";
import type { AccessCheck, Attempt, Found, Given, PathId } from "../tenants/access.ts";
import { type FoundParent, findParent, type Parent } from "../tenants/orders.ts";
import { hasPermission } from "../tenants/tenant-schema.ts";
import { Attachment, Upload, uploadExpiry } from "./attachment-schema.ts";
import { parentPermissions } from "./routes.ts";

/**
 * Access checks for attachments. They check the access to the parent, its account's feature and both permissions, and then find the
 * attachment.
 */

type AttachmentRoute = Route & { readonly parent: ParentType };
export type CollectionRoute = AttachmentRoute & {
  readonly operation: "index" | "create";
  readonly on: Exclude<Route["on"], "upload">;
};
type UploadRoute = AttachmentRoute & { readonly on: "upload" };
type ItemRoute = AttachmentRoute & { readonly operation: "show" | "update" };
type DeleteRoute = AttachmentRoute & { readonly operation: "delete" };

/** `ref` is undefined if the parent's id is not a ULID. `parent` is undefined if the parent does not exist, either. */
export type FoundInPath = Found & {
  readonly parentId: PathId;
  readonly ref: ParentRef | undefined;
  readonly parent: FoundParent | undefined;
};

/** Returns undefined if the parent's id is not a ULID. */
export const refInPath = ({ pathId }: Given, { parent: type }: AttachmentRoute): ParentRef | undefined => {
  const { id } = pathId(`${type}_id`);
  return id === undefined ? undefined : { type, id };
};

const findInPath = async (given: Given, route: AttachmentRoute): Promise<FoundInPath> => {
  const ref = refInPath(given, route);
  const parent = ref && (await findParent(ref));
  return { parentId: given.pathId(`${route.parent}_id`), ref, parent, owner: parent?.owner };
};

/** The result of every access check for attachments: the parent, and the id of the account that owns it. */
export type OfParent = { readonly parent: Parent; readonly owner: string };

const admitParent = (
  { parentId, owner }: FoundInPath,
  parent: Parent | undefined,
  { route: { parent: type, permission }, user, note }: Attempt<AttachmentRoute>,
): OfParent => {
  note(`the ${type} exists`, parentId.requestedId);
  if (!owner) throw notFound(type, parentId.requestedId);
  note(`the ${type}'s account is the key's or below it`, owner.id);
  if (!parent) throw notFound(type, parentId.requestedId);
  const { account, state } = parent;
  note(`the ${type}'s account has Ordering Attachment Access`, account.id);
  if (!account.features.ordering_attachment_access) throw attachmentsDisabled(account.id);
  for (const needed of [parentPermissions[type][state], permission]) {
    note("the user has the permission", needed);
    if (!hasPermission(user, needed)) throw permissionMissing(needed);
  }
  return { parent, owner: account.id };
};

export const attachmentParent: AccessCheck<CollectionRoute, FoundInPath, Parent | undefined, OfParent> = {
  find: findInPath,
  load: async ({ parent }) => parent?.read(),
  admit: admitParent,
};

type LoadedItems = {
  readonly parent: Parent | undefined;
  readonly items: readonly (Item | undefined)[];
  readonly requestedId: string;
};

/** Reads the items of the path parameter `name` with the rest of the parent. Reads no items if an id is not a ULID. */
const loadBelow =
  (name: "attachment_id" | "upload_id", keysOf: (ref: ParentRef, id: string) => readonly Key[]) =>
  async ({ ref, parent }: FoundInPath, given: Given): Promise<LoadedItems> => {
    const { id, requestedId } = given.pathId(name);
    const wanted = ref && id !== undefined ? keysOf(ref, id) : [];
    const [read, items] = await Promise.all([parent?.read(), getMany(wanted)]);
    return { parent: read, items, requestedId };
  };

/** Returns the parent and its items. */
const admitBelow = (found: FoundInPath, loaded: LoadedItems | undefined, attempt: Attempt<AttachmentRoute>) => {
  const admitted = admitParent(found, loaded?.parent, attempt);
  const { items = [], requestedId = "" } = loaded ?? {};
  const { document, parent, on } = attempt.route;
  attempt.note(`the ${on === "upload" ? on : document} exists below the ${parent}`, requestedId);
  return { admitted, items, requestedId };
};

export const oneAttachment: AccessCheck<
  ItemRoute,
  FoundInPath,
  LoadedItems,
  OfParent & { readonly current: Attachment }
> = {
  find: findInPath,
  load: loadBelow("attachment_id", (ref, id) => [keys.attachment(ref, id)]),
  admit: (found, loaded, attempt) => {
    const { admitted, items, requestedId } = admitBelow(found, loaded, attempt);
    const [item] = items;
    if (!item) throw notFound(attempt.route.resource, requestedId);
    return { ...admitted, current: parseItem(Attachment, item) };
  },
};

/** The access check for completing a direct upload. Also throws 404 if the upload has expired unused. */
export const uploadOfParent: AccessCheck<
  UploadRoute,
  FoundInPath,
  LoadedItems,
  OfParent & { readonly upload: Upload }
> = {
  find: findInPath,
  load: loadBelow("upload_id", (ref, id) => [keys.upload(ref, id)]),
  admit: (found, loaded, attempt) => {
    const { admitted, items, requestedId } = admitBelow(found, loaded, attempt);
    const [item] = items;
    const upload = item && parseItem(Upload, item);
    if (!upload || (upload.state === "open" && uploadExpiry(upload) <= attempt.now))
      throw notFound("upload", requestedId);
    return { ...admitted, upload };
  },
};

/** If `unfinished`, the metadata are deleted, but the file could not be removed yet. */
type Deletable = Attachment & { readonly unfinished: boolean };

/** The access check for deleting an attachment, or for completing a delete that could not remove the file. */
export const deletableAttachment: AccessCheck<
  DeleteRoute,
  FoundInPath,
  LoadedItems,
  OfParent & { readonly current: Deletable }
> = {
  find: findInPath,
  load: loadBelow("attachment_id", (ref, id) => [keys.attachment(ref, id), keys.unfinishedDelete(ref, id)]),
  admit: (found, loaded, attempt) => {
    const { admitted, items, requestedId } = admitBelow(found, loaded, attempt);
    const [stored, unfinished] = items;
    const isExpired = Number(unfinished?.expires_at) * 1000 <= attempt.now.getTime();
    const item = stored ?? (isExpired ? undefined : unfinished);
    if (!item) throw notFound(attempt.route.resource, requestedId);
    return { ...admitted, current: { ...parseItem(Attachment, item), unfinished: !stored } };
  },
};
