import type { Command } from "commander";
import type { Attachment } from "../../../shared/attachments/attachment-schema.ts";
import { allAttachments } from "../../../shared/attachments/read.ts";
import { findParents } from "../cli/lookups.ts";
import { type Format, printHeading, printRecord, printRows, table } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { add, addChange } from "../cli/usage.ts";
import { findAttachment } from "../history/find-attachment.ts";
import type { DownloadOptions } from "./download.ts";
import { carrierRows } from "./letter.ts";

const row = ({ id, name, file_hint, filename, bytes, inserted_at }: Attachment) => ({
  id,
  name,
  file_hint,
  filename,
  bytes,
  inserted_at,
});

export const addAttachmentCommands = (attachment: Command): void => {
  add(attachment, "list <request-or-order-id>", "list the attachments of a request or an order").action(
    async (parentId: string, format: Format) => {
      const parents = await findParents(parentId);
      const lists = parents.map((parent) => Array.fromAsync(allAttachments(parent), row));
      printRows((await withProgress(() => Promise.all(lists))).flat(), format);
    },
  );
  add(
    attachment,
    "show <request-or-order-id> <id>",
    "show an attachment, what the carrier has of it, and what it said",
  ).action(async (parentId: string, id: string, format: Format) => {
    const { parent, attachment } = await findAttachment(parentId, id);
    const carrier = await carrierRows(parent, id);
    if (format.json) return printRecord({ ...attachment, carrier }, format);
    printRecord(attachment, format);
    printHeading("What was sent to the carrier");
    console.log(table(carrier, { whole: true }));
  });
  addChange(attachment, "download <request-or-order-id> <id>", "download the file for a dispute; an event records it")
    .option(
      "--to <path>",
      "the file to write, or its folder (default: <id>-<the attachment's filename>, in this folder)",
    )
    .option("--force", "replace an existing file", false)
    .addHelpText(
      "after",
      `
Example: ./patchbay attachment download 01J… 01K… --to loa.pdf

It needs the evidence policy (the stack's output EvidencePolicyArn): the operators' policy does not allow reading files.`,
    )
    .action(async (parentId: string, id: string, options: DownloadOptions) =>
      (await import("./download.ts")).download(parentId, id, options),
    );
};
