import { preconditionFailed } from "../errors.ts";
import type { Precondition } from "../table/optimistic-update.ts";
import { header, type Incoming } from "./request.ts";

/** The ETag of a document: strong, by the version that counts its writes. */
export const etag = (version: number) => `"${version}"`;

/** If-Match (RFC 9110, 13.1.1): throws 412 unless it is left out, `*`, or lists the ETag of this version. */
export const precondition = (event: Incoming): Precondition => {
  const tags = header(event, "If-Match")
    ?.split(",")
    .map((tag) => tag.trim());
  return (version) => {
    if (tags && !tags.includes("*") && !tags.includes(etag(version))) throw preconditionFailed();
  };
};
