import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { apply, countsOf, PartlyAppliedError } from "../../shared/tenants/apply.ts";
import { isDryRun, tenantsJsonSchema } from "../../shared/tenants/file.ts";
import { CommandError } from "./command-error.ts";
import { messageOf } from "./explain.ts";
import { operatorOrigin } from "./operator.ts";
import { printJson } from "./output.ts";
import { withProgress } from "./progress.ts";

const help = `
Example:
  echo '{"accounts": {"acme": {"name": "Acme", "features": {"ordering_attachment_access": true}}},
         "users": {"ops": {"account": "acme", "permissions": ["ordering_request_attachments:*"]}},
         "keys": {"ops": {"account": "acme", "user": "ops"}}}' | npm run -s admin -- apply -

A reference is a name in the file or the id of an existing item. An entry whose id (a ULID) exists changes that item, and
leaves what it does not name as it is. The output has the id and the status of each entry (created, changed, unchanged),
what changed, and the new keys, which are not printed again. infra/admin/README.md documents the file.`;

/** `apply`: makes accounts, users, keys, orders and requests what a file says. */
export const addApplyCommand = (program: Command): void => {
  program
    .command("apply")
    .description("create or change the accounts, users, keys, orders and requests in a JSON file")
    .argument("<file>", "the file, or - for standard input")
    .option("--dry-run", "print what would be done, and write nothing", false)
    .addHelpText("after", help)
    .action(async (file: string, { dryRun }: { dryRun: boolean }) => {
      const document = parseJson(file, await readInput(file));
      const origin = await operatorOrigin();
      const applied = await withProgress(
        () => "Applying …",
        () => apply(document, origin, { dryRun }).catch(printPartly),
      );
      const { created, changed, unchanged } = countsOf(applied);
      console.error(
        `${dryRun || isDryRun(document) ? "Dry run: " : ""}${created} created, ${changed} changed, ${unchanged} unchanged.`,
      );
      printJson(applied);
    });
  program
    .command("schema")
    .description("print the JSON Schema of the file that `apply` accepts")
    .action(() => printJson(tenantsJsonSchema()));
};

/** The output of a file that was applied in part has what was written: ids and keys are not lost. */
const printPartly = (error: unknown): never => {
  if (error instanceof PartlyAppliedError) printJson(error.applied);
  throw error;
};

const readInput = async (file: string): Promise<string> => {
  if (file === "-") return text(process.stdin);
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT")
      throw new CommandError(`There is no file ${file}: pass an existing file, or - for standard input.`);
    if (code === "EISDIR") throw new CommandError(`${file} is a directory: pass a file, or - for standard input.`);
    if (code === "EACCES") throw new CommandError(`${file} cannot be read: correct its permissions.`);
    throw error;
  }
};

const parseJson = (file: string, content: string): unknown => {
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new CommandError(`${file === "-" ? "Standard input" : file} is not JSON: ${messageOf(error)}`);
  }
};
