import { pick } from "../schema/fields.ts";
import type { Parent } from "../tenants/orders.ts";
import { type Attachment, FileData } from "./attachment-schema.ts";
import { readForwardings } from "./forwarding.ts";

/**
 * Returns a function that gives the included associations of each attachment. Reads only `forwarding`; `file` is part of
 * the attachment.
 */
export const includedAssociations = async (
  parent: Parent,
  attachments: readonly Attachment[],
  include: readonly ("file" | "forwarding")[] = [],
) => {
  const ids = attachments.map(({ id }) => id);
  const forwardings = include.includes("forwarding") ? await readForwardings(parent, ids) : undefined;
  return (attachment: Attachment) => ({
    ...(include.includes("file") && { file: { type: "file", data: pick(FileData, attachment) } }),
    ...(forwardings && { forwarding: { type: "forwarding", data: forwardings.get(attachment.id) } }),
  });
};
