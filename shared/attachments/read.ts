import { collections, keys, type ParentRef } from "../table/keys.ts";
import { parseItem, queryAll, readItem } from "../table/read.ts";
import { Attachment } from "./attachment-schema.ts";

export const readAttachment = (parent: ParentRef, id: string): Promise<Attachment | undefined> =>
  readItem(Attachment, keys.attachment(parent, id));

/** Yields every attachment of a parent, in ascending order of their ids. */
export async function* allAttachments(parent: ParentRef): AsyncGenerator<Attachment> {
  for await (const item of queryAll(collections.attachments(parent))) yield parseItem(Attachment, item);
}
