import type { Command } from "commander";
import type { Attachment } from "../../shared/attachments/attachment-schema.ts";
import { allAttachments } from "../../shared/attachments/attachments.ts";
import { download } from "./download.ts";
import { findAttachment, findParents } from "./find.ts";
import { printRecord, printRows } from "./output.ts";
import { withProgress } from "./progress.ts";
import { add } from "./usage.ts";

const row = ({ id, name, file_hint, filename, bytes, inserted_at }: Attachment) => ({
  id,
  name,
  file_hint,
  filename,
  bytes,
  inserted_at,
});

export const addAttachmentCommands = (attachment: Command): void => {
  add(attachment, "list <request|order>", "list the attachments of a request or an order").action(
    async (parentId: string) => {
      const parents = await findParents(parentId);
      const lists = parents.map((parent) => Array.fromAsync(allAttachments(parent), row));
      printRows((await withProgress(() => Promise.all(lists))).flat());
    },
  );
  add(attachment, "show <request|order> <id>", "show an attachment").action(async (parentId: string, id: string) =>
    printRecord((await findAttachment(parentId, id)).attachment),
  );
  add(attachment, "download <request|order> <id>", "download the file, for a dispute; an event records it")
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
