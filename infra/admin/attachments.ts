import type { Command } from "commander";
import { allAttachments, readAttachment } from "../../shared/attachments/attachments.ts";
import type { Attachment } from "../../shared/attachments/schema.ts";
import type { ParentRef } from "../../shared/table/keys.ts";
import { download } from "./download.ts";
import { CommandError } from "./errors.ts";
import { findOrder, findRequest, parseId } from "./find.ts";
import { printRecord, printRows } from "./output.ts";
import { withProgress } from "./progress.ts";

type Parent = { readonly request?: string; readonly order?: string };

const findParent = async ({ request, order }: Parent): Promise<ParentRef> => {
  if ((request === undefined) === (order === undefined))
    throw new CommandError("Pass the parent: either --request <id> or --order <id>.");
  if (request !== undefined) return { type: "request", id: (await findRequest(request)).id };
  return { type: "order", id: (await findOrder(order ?? "")).id };
};

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
    .option("--request <id>", "the request", parseId)
    .option("--order <id>", "the order", parseId)
    .action(async (options: Parent) => {
      const parent = await findParent(options);
      printRows(await withProgress(() => Array.fromAsync(allAttachments(parent), row)));
    });
  attachment
    .command("show")
    .description("show an attachment")
    .argument("<id>", "the attachment", parseId)
    .option("--request <id>", "its request", parseId)
    .option("--order <id>", "its order", parseId)
    .action(async (id: string, options: Parent) => {
      const parent = await findParent(options);
      const found = await readAttachment(parent, id);
      if (!found)
        throw new CommandError(
          `There is no attachment ${id} in this ${parent.type}: \`attachment list\` lists the existing ones.`,
        );
      printRecord(found);
    });
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
