import { createHash } from "node:crypto";
import { preconditionFailed } from "../errors.ts";
import type { Precondition } from "../table/optimistic-update.ts";
import { type Incoming, listHeader } from "./request.ts";

/**
 * The ETag of a document: strong, by the version that counts its writes. What is included beside the document changes
 * without it, so its hash follows.
 */
export const etag = (version: number, included: object = {}) =>
  Object.keys(included).length === 0 ? `"${version}"` : `"${version}.${hashOf(included)}"`;

const hashOf = (included: object) =>
  createHash("sha256").update(JSON.stringify(included)).digest("base64url").slice(0, 16);

/** Whether an ETag is one of this version of a document, whatever was included. */
const isOfVersion = (tag: string, version: number) => /^"(\d+)(?:\.[\w-]+)?"$/.exec(tag)?.[1] === String(version);

/** The entity tags of a list, weak ones with their `W/`. A comma may stand within a tag. Source: RFC 9110, 8.8.3. */
const entityTags = (list: string): string[] =>
  list.trim() === "*" ? ["*"] : (list.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\u{10ffff}]*"/gu) ?? []);

/** If-Match (RFC 9110, 13.1.1): throws 412 unless it is left out, `*`, or lists an ETag of this version. */
export const precondition = (event: Incoming): Precondition => {
  const list = listHeader(event, "If-Match");
  const tags = list === undefined ? undefined : entityTags(list);
  return (version) => {
    if (tags && !tags.includes("*") && !tags.some((tag) => isOfVersion(tag, version))) throw preconditionFailed();
  };
};

/** If-None-Match (RFC 9110, 13.1.2): whether the caller has this representation. Weak tags are compared as strong ones. */
export const isKnownToCaller = (event: Incoming, tag: string): boolean => {
  const tags = entityTags(listHeader(event, "If-None-Match") ?? "");
  return tags.some((one) => one === "*" || one.replace(/^W\//, "") === tag);
};
