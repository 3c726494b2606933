import { preconditionFailed } from "../errors.ts";
import type { Precondition } from "../table/optimistic-update.ts";
import { type Incoming, listHeader } from "./request.ts";

/** The ETag of a document: strong, by the version that counts its writes. */
export const etag = (version: number) => `"${version}"`;

/** The entity tags of a list, weak ones with their `W/`. A tag may contain a comma. Source: RFC 9110, 8.8.3. */
const entityTags = (list: string): string[] =>
  list.trim() === "*" ? ["*"] : (list.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\u{10ffff}]*"/gu) ?? []);

/** If-Match (RFC 9110, 13.1.1): throws 412 unless it is left out, `*`, or lists the ETag of this version. */
export const precondition = (event: Incoming): Precondition => {
  const list = listHeader(event, "If-Match");
  const tags = list === undefined ? undefined : entityTags(list);
  return (version) => {
    if (tags && !tags.includes("*") && !tags.includes(etag(version))) throw preconditionFailed();
  };
};
