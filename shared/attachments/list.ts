import { collections } from "../table/keys.ts";
import { type Page, pageRequest, readPage } from "../table/pages.ts";
import type { PageReader } from "../tenants/access.ts";
import { type OnParent, parentRef } from "./access.ts";
import { Attachment } from "./schema.ts";

/** Reads the page of a parent's attachments that a query asks for. */
export const attachmentPage: PageReader<OnParent, Page<Attachment>> = async (lookup, query, { parent }) => {
  const list = collections.attachments(parentRef(lookup, parent).ref);
  return readPage(list, pageRequest(list, query), Attachment);
};
