import { readAttachment } from "../../../shared/attachments/read.ts";
import { CommandError } from "../cli/command-errors.ts";
import { findParents } from "../cli/lookups.ts";
import { deletionOf, historyCommand } from "./history.ts";

/** Returns an attachment and its parent. Throws a CommandError that says when it was deleted, if it was. */
export const findAttachment = async (parentId: string, id: string) => {
  const parents = await findParents(parentId);
  for (const { account, ...parent } of parents) {
    const attachment = await readAttachment(parent, id);
    if (attachment) return { parent, account, attachment };
  }
  for (const parent of parents) {
    const deletion = await deletionOf(parent, id);
    if (deletion)
      throw new CommandError(`The attachment ${id} was deleted at ${deletion}: see ${historyCommand(parent)}.`);
  }
  throw new CommandError(
    `There is no attachment ${id} in ${parentId}: \`attachment list\` lists those of a request or an order, and \`find\` shows where one is.`,
  );
};
