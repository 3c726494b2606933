import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Command } from "commander";
import { addAccountCommands } from "./accounts.ts";
import { addAttachmentCommands } from "./attachments.ts";
import { addCheckCommand } from "./check.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addEnvCommand } from "./env.ts";
import { CommandError, useEnvironment } from "./environment.ts";
import { addKeyCommands } from "./keys.ts";
import { addOrderCommands, addRequestCommands } from "./orders.ts";
import { printJson } from "./output.ts";
import { addSweepCommand } from "./sweep.ts";
import { addSwitchCommands } from "./switches.ts";
import { addUserCommands } from "./users.ts";

/** The operators' CLI: `npm run admin -- <command>`. Its modules are loaded when a command needs them. */
const program = new Command("admin")
  .description(
    "Patchbay's operators' CLI: works on a deployed stack (--stack), on the table named by TABLE_NAME, or on the local stack that is running.",
  )
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError("Run `npm run admin -- --help` for the commands.");

program.option("--stack <name>", "work on this deployed stack; the environment's PATCHBAY_STACK does the same");
program.hook("preAction", () => useEnvironment(program.opts<{ stack?: string }>().stack));

program
  .command("apply")
  .description("create the accounts, users, keys, orders and requests that a JSON file lists, all or none")
  .argument("<file>", "the file, or - for standard input")
  .addHelpText(
    "after",
    `
Example:
  echo '{"accounts": {"acme": {"name": "Acme", "features": {"ordering_attachment_access": true}}},
         "users": {"ops": {"account": "acme", "permissions": ["ordering_request_attachments:*"]}},
         "keys": {"ops": {"account": "acme", "user": "ops"}}}' | npm run -s admin -- apply -

A reference is a name in the file or the id of something that exists. The answer holds the ids and, once, the keys.`,
  )
  .action(async (file: string) => {
    const document = parseJson(file, file === "-" ? await text(process.stdin) : await readFile(file, "utf8"));
    const { apply } = await import("../../shared/tenants/apply.ts");
    printJson(await apply(document));
  });

const parseJson = (file: string, content: string): unknown => {
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new CommandError(
      `${file === "-" ? "Standard input" : file} is not JSON: ${error instanceof Error ? error.message : error}`,
    );
  }
};

const group = (name: string, description: string) => program.command(name).description(description);
addAccountCommands(group("account", "accounts and their features"));
addUserCommands(group("user", "users and their permissions"));
addKeyCommands(group("key", "API keys"));
addOrderCommands(group("order", "orders"));
addRequestCommands(group("request", "requests within orders"));
addAttachmentCommands(group("attachment", "attachments of requests and orders, read-only"));
addSwitchCommands(group("switch", "switches, read-only"));
addDoctorCommand(program);
addEnvCommand(program);
addCheckCommand(program);
addSweepCommand(program);

/** An error as a person can act on it: the faults of what was given, a line each; else its message. */
const explain = async (error: unknown): Promise<string> => {
  const { ApiError } = await import("../../shared/errors.ts");
  if (error instanceof ApiError)
    return error.body.errors
      .map(({ source, detail, params }) =>
        [source?.pointer, detail, params && JSON.stringify(params)].filter(Boolean).join(": "),
      )
      .join("\n");
  return error instanceof Error ? error.message : String(error);
};

try {
  await program.parseAsync();
} catch (error) {
  console.error(await explain(error));
  process.exitCode = 1;
}
