import * as z from "zod/mini";
import { invalid, notFound, problemIn } from "../errors.ts";
import { noId, type PageQuery } from "../schema/fields.ts";
import { collections, keys, type ParentRef } from "../table/keys.ts";
import { type Page, pageRequest, readPage } from "../table/pages.ts";
import { get, parseItem } from "../table/read.ts";
import type { Given } from "../tenants/access.ts";
import { type CollectionRoute, parentInPath } from "./access.ts";
import { Attachment } from "./attachment-schema.ts";
import { readAttachment } from "./attachments.ts";

type Query = PageQuery & { readonly reference_id?: string | undefined };

/** `total` is present if a reference_id limits the list. */
type AttachmentPage = Page<Attachment> & { readonly total?: number };

export const attachmentPage = async (
  given: Given,
  query: Query,
  { parent }: CollectionRoute,
): Promise<AttachmentPage> => {
  const { parentId, ref } = parentInPath(given, parent);
  if (!ref) throw notFound(parent, parentId.requestedId);
  const list = collections.attachments(ref);
  if (query.reference_id !== undefined) return referencedPage(ref, query, query.reference_id);
  return readPage(list, pageRequest(list, query), Attachment);
};

const Reference = z.object({ attachment: z.string() });

/** Returns a page with the attachment that has this reference_id, or an empty page. Takes two reads. */
const referencedPage = async (ref: ParentRef, query: Query, uuid: string): Promise<AttachmentPage> => {
  const cursors = (["after", "before"] as const).filter((name) => query[name] !== undefined);
  const problem = "can't be combined with reference_id";
  if (cursors.length > 0)
    throw invalid(cursors.map((one) => problemIn("query", `/${one}`, "constraint.format", problem)));
  const { limit } = pageRequest(collections.attachments(ref), query);
  const reference = await get(keys.reference(ref, uuid));
  const found = await readAttachment(ref, reference ? parseItem(Reference, reference).attachment : noId);
  const items = found ? [found] : [];
  return { items, after: null, before: null, limit, total: items.length };
};
