import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { applyAndCount } from "../../shared/tenants/apply.ts";
import { tenantsJsonSchema } from "../../shared/tenants/file.ts";
import { CommandError } from "./command-error.ts";
import { messageOf } from "./explain.ts";
import { printJson } from "./output.ts";
import { withProgress } from "./progress.ts";

const help = `
Example:
  echo '{"accounts": {"acme": {"name": "Acme", "features": {"ordering_attachment_access": true}}},
         "users": {"ops": {"account": "acme", "permissions": ["ordering_request_attachments:*"]}},
         "keys": {"ops": {"account": "acme", "user": "ops"}}}' | npm run -s admin -- apply -

A reference is a name in the file or the id of an existing item. The output contains the ids and the new keys, which are
not printed again. An entry may have an id (a ULID) of its own, which makes the file safe to apply again: an item that
exists with the same content is left unchanged, and one with different content is an error. infra/admin/README.md
documents the file.`;

/** `apply`: the interface through which other systems create accounts, users, keys, orders and requests. */
export const addApplyCommand = (program: Command): void => {
  program
    .command("apply")
    .description("create the accounts, users, keys, orders and requests in a JSON file: all of them or none")
    .argument("<file>", "the file, or - for standard input")
    .addHelpText("after", help)
    .action(async (file: string) => {
      const document = parseJson(file, await readInput(file));
      const { applied, created, existing } = await withProgress(
        () => "Applying …",
        () => applyAndCount(document),
      );
      console.error(`Created ${created}, left ${existing} unchanged.`);
      printJson(applied);
    });
  program
    .command("schema")
    .description("print the JSON Schema of the file that `apply` accepts")
    .action(() => printJson(tenantsJsonSchema()));
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
