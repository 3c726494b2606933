import type { Command } from "commander";
import type { Attachment } from "../../shared/attachments/attachment-schema.ts";
import { allAttachments } from "../../shared/attachments/attachments.ts";
import { download } from "./download.ts";
import { findAttachment, findParents, parseId } from "./find.ts";
import { printRecord, printRows } from "./output.ts";
import { withProgress } from "./progress.ts";

const row = ({ id, name, file_hint, filename, bytes, inserted_at }: Attachment) => ({
  id,
  name,
  file_hint,
  filename,
  bytes,
  inserted_at,
});

export const addAttachmentCommands = (attachment: Command): void => {
  attachment
    .command("list")
    .description("list the attachments of a request or an order")
    .argument("<request|order>", "the id of the request or the order", parseId)
    .action(async (parentId: string) => {
      const parents = await findParents(parentId);
      const lists = parents.map((parent) => Array.fromAsync(allAttachments(parent), row));
      printRows((await withProgress(() => Promise.all(lists))).flat());
    });
  attachment
    .command("show")
    .description("show an attachment")
    .argument("<request|order>", "the id of its request or its order", parseId)
    .argument("<id>", "the attachment", parseId)
    .action(async (parentId: string, id: string) => printRecord((await findAttachment(parentId, id)).attachment));
  attachment
    .command("download")
    .description("download the file of an attachment, for a dispute; an event records it")
    .argument("<request|order>", "the id of its request or its order", parseId)
    .argument("<id>", "the attachment", parseId)
    .option("--to <path>", "the file to write, or the folder (default: the attachment's filename, in this folder)")
    .option("--force", "replace an existing file", false)
    .addHelpText(
      "after",
      `
Example: npm run admin -- attachment download 01J… 01K… --to loa.pdf

It needs the evidence policy (the stack's output EvidencePolicyArn): the operators' policy does not allow reading files.`,
    )
    .action(download);
};
