import { Command } from "commander";
import project from "../../package.json" with { type: "json" };
import { printWith } from "../../shared/log.ts";
import { addAccountCommands } from "./accounts.ts";
import { addApplyCommand } from "./apply.ts";
import { addAttachmentCommands } from "./attachments.ts";
import { addCheckCommand } from "./check.ts";
import { addCompletion } from "./completion.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addEnvCommand } from "./env.ts";
import { explain } from "./explain.ts";
import { addKeyCommands } from "./keys.ts";
import { addOrderCommands } from "./orders.ts";
import { safeLines } from "./output.ts";
import { addRequestCommands } from "./requests.ts";
import { addSweepCommand } from "./sweep.ts";
import { addSwitchCommands } from "./switches.ts";
import { type TargetOptions, useTarget } from "./target.ts";
import { addUserCommands } from "./users.ts";

// What a command prints, in JSON above all, stays free of the log.
printWith((line) => process.stderr.write(safeLines(`${JSON.stringify(line)}\n`)));

const program = new Command("admin")
  .description(
    "Patchbay's operators' CLI: works on a deployed stack (--stack), on the table named by TABLE_NAME, or on the local stack that is running.",
  )
  .version(project.version)
  .option("--stack <name>", "work on this deployed stack; PATCHBAY_STACK does the same")
  .option("--port <port>", "work on the local stack on this port; PORT does the same")
  .configureHelp({ showGlobalOptions: true })
  .configureOutput({
    writeOut: (text) => process.stdout.write(safeLines(text)),
    writeErr: (text) => process.stderr.write(safeLines(text)),
  })
  .showHelpAfterError("Run `npm run admin -- --help` for the commands.");

/** These choose their targets themselves, or have none. */
const withoutTarget = ["env", "doctor", "schema", "completion", "complete"];

program.hook("preAction", async (_, command) => {
  if (!withoutTarget.includes(command.name())) await useTarget(program.opts<TargetOptions>());
});

const group = (name: string, description: string) => program.command(name).description(description);
addApplyCommand(program);
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

/** They print JSON in any case. */
const withoutJson = ["apply", "schema"];

for (const command of program.commands.flatMap((one) => (one.commands.length > 0 ? one.commands : [one])))
  if (!withoutJson.includes(command.name())) command.option("--json", "print JSON");
addCompletion(program);

try {
  await program.parseAsync();
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}
