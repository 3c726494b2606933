import * as z from "zod/mini";
import { invalid, notFound, problemIn } from "../errors.ts";
import type { QueryReads } from "../route.ts";
import { noId, type PageQuery } from "../schema/fields.ts";
import type { Item } from "../table/expressions.ts";
import { collections, keys, type ParentRef } from "../table/keys.ts";
import { type Page, pageRequest, readPage } from "../table/pages.ts";
import { get, parseItem } from "../table/read.ts";
import type { AccessCheck } from "../tenants/access.ts";
import type { Parent } from "../tenants/orders.ts";
import { attachmentParent, type CollectionRoute, type FoundInPath, type OfParent, refInPath } from "./access.ts";
import { Attachment } from "./attachment-schema.ts";
import { readAttachment } from "./read.ts";

type Query = PageQuery & { readonly reference_id?: string | undefined };
type ListRoute = CollectionRoute & { readonly reads: QueryReads<z.core.$ZodType<Query>> };

type FoundList = FoundInPath & { readonly reference: Promise<Item | undefined> };

/** Reads the item of the query's reference_id with the parent, so that looking up its attachment takes no more round trips. */
export const listParent: AccessCheck<ListRoute, FoundList, Parent | undefined, OfParent> = {
  ...attachmentParent,
  find: async (given, route) => {
    const ref = refInPath(given, route);
    const reference = (async () => {
      const uuid = given.query?.(route.reads).reference_id;
      return ref && uuid !== undefined ? get(keys.reference(ref, uuid)) : undefined;
    })();
    const [found] = await Promise.all([attachmentParent.find(given, route), Promise.allSettled([reference])]);
    return { ...found, reference };
  },
};

/** `total` is present if a reference_id limits the list. */
type AttachmentPage = Page<Attachment> & { readonly total?: number };

export const attachmentPage = async ({ ref, reference }: FoundList, query: Query): Promise<AttachmentPage> => {
  if (!ref) throw notFound();
  if (query.reference_id !== undefined) return referencedPage(ref, query, await reference);
  const list = collections.attachments(ref);
  return readPage(list, pageRequest(list, query), Attachment);
};

const Reference = z.object({ attachment: z.string() });

/** Returns a page with the attachment of this reference, or an empty page. */
const referencedPage = async (ref: ParentRef, query: Query, reference: Item | undefined): Promise<AttachmentPage> => {
  const cursors = (["after", "before"] as const).filter((name) => query[name] !== undefined);
  const problem = "can't be combined with reference_id";
  if (cursors.length > 0)
    throw invalid(cursors.map((one) => problemIn("query", `/${one}`, "constraint.format", problem)));
  const { limit } = pageRequest(collections.attachments(ref), query);
  const found = await readAttachment(ref, reference ? parseItem(Reference, reference).attachment : noId);
  const items = found ? [found] : [];
  return { items, after: null, before: null, limit, total: items.length };
};
