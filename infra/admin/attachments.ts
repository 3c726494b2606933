import type { Command } from "commander";
import { CommandError } from "./environment.ts";
import type { Output } from "./make.ts";
import { printRows, printThing } from "./output.ts";

type Of = { readonly request?: string; readonly order?: string };

const parentOf = ({ request, order }: Of) => {
  const id = request ?? order;
  if (id === undefined || (request !== undefined && order !== undefined))
    throw new CommandError("Name the parent: either --request <id> or --order <id>.");
  return { type: request === undefined ? "order" : "request", id: id.toUpperCase() } as const;
};

/** `attachment list | show`: metadata only, read-only. */
export const addAttachmentCommands = (attachment: Command): void => {
  attachment
    .command("list")
    .description("list the attachments of a request or an order")
    .option("--request <id>", "the request")
    .option("--order <id>", "the order")
    .option("--json", "print JSON")
    .action(async ({ json, ...of }: Output & Of) => {
      const { allAttachments } = await import("../../shared/attachments/attachments.ts");
      const rows = await Array.fromAsync(
        allAttachments(parentOf(of)),
        ({ id, name, file_hint, filename, bytes, inserted_at }) => ({
          id,
          name,
          file_hint,
          filename,
          bytes,
          inserted_at,
        }),
      );
      printRows(rows, { json });
    });
  attachment
    .command("show")
    .description("show an attachment")
    .argument("<id>")
    .option("--request <id>", "its request")
    .option("--order <id>", "its order")
    .option("--json", "print JSON")
    .action(async (id: string, { json, ...of }: Output & Of) => {
      const { readAttachment } = await import("../../shared/attachments/attachments.ts");
      const found = await readAttachment(parentOf(of), id.toUpperCase());
      if (!found)
        throw new CommandError(`There is no attachment ${id} there: \`attachment list\` shows those that exist.`);
      const { writers: _, ...attachment } = found;
      printThing(attachment, { json });
    });
};
