import { decodeTime } from "ulid";
import type { ParentRef } from "../table/keys.ts";

/** An object key in the bucket begins with the day of the upload, for the sweep. The rest identifies the attachment. */
export const filePrefix = "attachments/";

/** The file that `patchbay doctor` stores and deletes to test the bucket. Its key contains no day, so no sweep removes it. */
export const doctorFile = `${filePrefix}doctor/file`;

export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

export const dayPrefix = (day: string): string => `${filePrefix}${day.replaceAll("-", "/")}/`;

/** The beginning of the keys of the files that a parent got on a day. */
export const parentPrefix = (day: string, { type, id }: ParentRef): string => `${dayPrefix(day)}${type}/${id}/`;

/** `attachments/2026/11/21/<parent type>/<parent id>/<id>`. */
export const fileKey = (of: ParentRef, attachmentId: string): string =>
  `${parentPrefix(dayOf(new Date(decodeTime(attachmentId))), of)}${attachmentId}`;

/** Returns the day of an object key, or undefined for a key that is not an attachment's. */
export const fileDay = (key: string): string | undefined =>
  /^attachments\/(\d{4}\/\d\d\/\d\d)\//.exec(key)?.[1]?.replaceAll("/", "-");

/** Returns the attachment that an object key belongs to, or undefined for a key that is not an attachment's. */
export const fileOwner = (key: string): { readonly parent: ParentRef; readonly id: string } | undefined => {
  const [, type, parentId = "", id = ""] =
    /^attachments\/\d{4}\/\d\d\/\d\d\/(order|request)\/(\w{26})\/(\w{26})$/.exec(key) ?? [];
  if (id === "") return undefined;
  return { parent: { type: type === "order" ? "order" : "request", id: parentId }, id };
};
