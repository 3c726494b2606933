import { Command, CommanderError } from "commander";
import project from "../../package.json" with { type: "json" };
import { errorBody, explain, UsageError } from "./cli/command-errors.ts";
import { printJson, safeLines } from "./cli/output.ts";
import { addEnvCommand, type TargetOptions, useTarget } from "./cli/target.ts";
import { otherPrograms, pathOf, throwUsageErrors, usageOf } from "./cli/usage.ts";

/** Commands that choose their target themselves, or need none. */
const withoutTarget = ["env", "doctor", "schema", "carrier check"];

const group = (program: Command, name: string, description: string) => program.command(name).description(description);

type Add = (program: Command) => Promise<unknown>;

/** What adds the commands that begin with a word. Only the called one is loaded, because most load clients of AWS. */
const commands = new Map<string, Add>(
  Object.entries({
    today: async (program) => (await import("./orders/today.ts")).addTodayCommand(program),
    apply: async (program) => (await import("./accounts/apply-command.ts")).addApplyCommand(program),
    schema: async (program) => (await import("./accounts/apply-command.ts")).addSchemaCommand(program),
    account: async (program) =>
      (await import("./accounts/accounts.ts")).addAccountCommands(
        group(program, "account", "accounts and their features"),
      ),
    user: async (program) =>
      (await import("./accounts/users.ts")).addUserCommands(group(program, "user", "users and their permissions")),
    key: async (program) => (await import("./accounts/keys.ts")).addKeyCommands(group(program, "key", "API keys")),
    order: async (program) => (await import("./orders/orders.ts")).addOrderCommands(group(program, "order", "orders")),
    request: async (program) =>
      (await import("./orders/orders.ts")).addRequestCommands(group(program, "request", "requests within orders")),
    attachment: async (program) =>
      (await import("./orders/attachments.ts")).addAttachmentCommands(
        group(program, "attachment", "attachments of requests and orders, and their files"),
      ),
    switch: async (program) =>
      (await import("./accounts/switches.ts")).addSwitchCommands(group(program, "switch", "switches, read-only")),
    history: async (program) =>
      (await import("./history/history.ts")).addHistoryCommands(
        group(program, "history", "what happened to an order, a request, a switch, an account, a user or an API key"),
      ),
    find: async (program) => (await import("./history/find-command.ts")).addFindCommand(program),
    access: async (program) => (await import("./accounts/access-command.ts")).addAccessCommand(program),
    doctor: async (program) => (await import("./doctor/doctor.ts")).addDoctorCommand(program),
    carrier: async (program) =>
      (await import("./carrier/carrier-check.ts")).addCarrierCommands(
        group(
          program,
          "carrier",
          "check whether a carrier keeps its contract; ./patchbay carrier alone starts a simulated one",
        ),
      ),
    env: async (program) => addEnvCommand(program),
    check: async (program) => (await import("./check/check.ts")).addCheckCommand(program),
    sweep: async (program) => (await import("./check/sweep-command.ts")).addSweepCommand(program),
    restore: async (program) => (await import("./check/restore.ts")).addRestoreCommand(program),
  } satisfies Record<string, Add>),
);

/** The first word of a command line that is neither an option nor the value of one. */
const firstWord = (args: readonly string[]): string =>
  args.find((one, index) => !one.startsWith("-") && !/^--(stack|port)$/.test(args[index - 1] ?? "")) ?? "";

/** Creates the program with the commands that `args` call, or with all of them. Calls `beforeAction` with each before it runs. */
export const createProgram = async (
  beforeAction: (command: Command) => void = () => {},
  args: readonly string[] = [],
): Promise<Command> => {
  const program = new Command("patchbay")
    .description(
      `Runs, deploys and operates Patchbay. The commands below work on a deployed stack (--stack), on the table in TABLE_NAME, or on the running local stack. Others, each with its own --help: ${otherPrograms.join(", ")}.`,
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

  const called = commands.get(firstWord(args));
  for (const add of called ? [called] : commands.values()) await add(program);
  throwUsageErrors(program);
  return program;
};

/**
 * Runs a command line. Sets the exit code to 2 for wrong usage, and to 1 for any other failure. With `--json`, prints errors as
 * JSON, too.
 */
export const runCommand = async (args: readonly string[]): Promise<void> => {
  const json = args.includes("--json");
  let running: Command | undefined;
  try {
    const program = await createProgram((command) => {
      running = command;
    }, args);
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
