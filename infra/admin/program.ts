import { Command, CommanderError } from "commander";
import project from "../../package.json" with { type: "json" };
import { addAccessCommand } from "./access-command.ts";
import { addAccountCommands } from "./accounts.ts";
import { addApplyCommand } from "./apply-command.ts";
import { addAttachmentCommands } from "./attachments.ts";
import { addCarrierCommands } from "./carrier-check.ts";
import { addCheckCommand } from "./check.ts";
import { errorBody, explain, UsageError } from "./command-errors.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addFindCommand } from "./find-command.ts";
import { addHistoryCommands } from "./history.ts";
import { addKeyCommands } from "./keys.ts";
import { addOrderCommands, addRequestCommands } from "./orders.ts";
import { printJson, safeLines } from "./output.ts";
import { startClock } from "./progress.ts";
import { addRestoreCommand } from "./restore.ts";
import { addSweepCommand } from "./sweep-command.ts";
import { addSwitchCommands } from "./switches.ts";
import { addEnvCommand, type TargetOptions, useTarget } from "./target.ts";
import { leavesOf, parseEventText, pathOf, throwUsageErrors, usageOf } from "./usage.ts";
import { addUserCommands } from "./users.ts";

/** Commands that choose their target themselves, or need none. */
const withoutTarget = ["env", "doctor", "schema", "carrier check"];

/** Commands that record events of an operator. */
const changing =
  /^(apply|create|issue|rename|feature|permissions|disable|enable|label|revoke|rotate|download|settle|resend|export|erase)$/;

/** Calls `beforeAction` with each command before it runs. */
export const createProgram = (beforeAction: (command: Command) => void): Command => {
  const program = new Command("patchbay")
    .description(
      "Runs, deploys and operates Patchbay. The commands below work on a deployed stack (--stack), on the table in TABLE_NAME, or on the running local stack. Others, each with its own --help: start, console, carrier, docs, synth, deploy, deploy-local, destroy.",
    )
    .version(project.version)
    .option("--stack <name>", "the deployed stack to work on (default: PATCHBAY_STACK)")
    .option("--port <port>", "the port of the local stack to work on (default: PORT)")
    .option("--json", "print JSON", false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => process.stdout.write(safeLines(text)),
      // Errors are thrown, and printed in one place.
      writeErr: () => {},
    });

  program.hook("preAction", async (_, command) => {
    beforeAction(command);
    // Wherever --json stands, the command gets it with its own options.
    command.setOptionValue("json", program.opts<{ json: boolean }>().json);
    if (!withoutTarget.includes(pathOf(command))) await useTarget(program.opts<TargetOptions>());
  });

  const group = (name: string, description: string) => program.command(name).description(description);
  addApplyCommand(program);
  addAccountCommands(group("account", "accounts and their features"));
  addUserCommands(group("user", "users and their permissions"));
  addKeyCommands(group("key", "API keys"));
  addOrderCommands(group("order", "orders"));
  addRequestCommands(group("request", "requests within orders"));
  addAttachmentCommands(group("attachment", "attachments of requests and orders, and their files"));
  addSwitchCommands(group("switch", "switches, read-only"));
  addHistoryCommands(
    group("history", "what happened to an order, a request, a switch, an account, a user or an API key"),
  );
  addFindCommand(program);
  addAccessCommand(program);
  addDoctorCommand(program);
  addCarrierCommands(
    group("carrier", "check whether a carrier keeps its contract; ./patchbay carrier alone starts a simulated one"),
  );
  addEnvCommand(program);
  addCheckCommand(program);
  addSweepCommand(program);
  addRestoreCommand(program);
  for (const command of leavesOf(program))
    if (changing.test(command.name()))
      command.option(
        "--on-behalf-of <text>",
        "on whose behalf the change is made; its event records it",
        parseEventText,
      );
  throwUsageErrors(program);
  return program;
};

/** Sets the exit code: 2 for wrong usage, 1 for any other failure. With `--json`, prints errors as JSON, too. */
export const runCommand = async (args: readonly string[]): Promise<void> => {
  startClock();
  const json = args.includes("--json");
  let running: Command | undefined;
  try {
    const program = createProgram((command) => {
      running = command;
    });
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander throws help and the version as errors. Its other errors have become UsageErrors.
    if (error instanceof CommanderError) return;
    const isUsage = error instanceof UsageError;
    const usage = isUsage ? (error.usage ?? (running && usageOf(running))) : undefined;
    if (json) printJson(errorBody(error));
    else console.error([explain(error), usage].filter(Boolean).join("\n"));
    process.exitCode = isUsage ? 2 : 1;
  }
};
