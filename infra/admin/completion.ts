import { join } from "node:path";
import tab from "@bomb.sh/tab/commander";
import type { Command } from "commander";

const entry = join(import.meta.dirname, "run.ts");

/** The command `admin`, for the shell whose completion is printed: nothing is installed under that name. */
const functions = new Map([
  ["bash", `admin() { '${process.execPath}' '${entry}' "$@"; }`],
  ["zsh", `admin() { '${process.execPath}' '${entry}' "$@"; }`],
  ["fish", `function admin; '${process.execPath}' '${entry}' $argv; end`],
  ["powershell", `function admin { & '${process.execPath}' '${entry}' @args }`],
]);

/** `completion <shell>`: the command `admin` and its completion, for a shell to source. */
export const addCompletion = (program: Command): void => {
  tab(program, { completionCommandName: "completion" });
  const completion = program.commands.find((command) => command.name() === "completion");
  completion
    ?.description("print a shell function `admin` and its completion, for a shell to source")
    .hook("preAction", (_, { args: [shell = ""] }) => console.log(functions.get(shell)))
    .addHelpText("after", "\nExample: source <(npm run -s admin -- completion bash) && admin order list");
};
