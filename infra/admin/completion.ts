import { join } from "node:path";
import { pathToFileURL } from "node:url";
import tab from "@bomb.sh/tab/commander";
import type { Command } from "commander";

const entry = join(import.meta.dirname, "run.ts");
const run = `'${process.execPath}' --import '${pathToFileURL(join(import.meta.dirname, "../node.js"))}' '${entry}'`;

/** Defines `admin` as a function for each shell, since no program of that name is installed. */
const shellFunctions = new Map([
  ["bash", `admin() { ${run} "$@"; }`],
  ["zsh", `admin() { ${run} "$@"; }`],
  ["fish", `function admin; ${run} $argv; end`],
  ["powershell", `function admin { & ${run} @args }`],
]);

/** `completion <shell>`: a script that defines `admin` and its completion. */
export const addCompletion = (program: Command): void => {
  tab(program, { completionCommandName: "completion" });
  const completion = program.commands.find((command) => command.name() === "completion");
  completion
    ?.description("print a script that defines the shell function `admin` and its completion")
    .hook("preAction", (_, { args: [shell = ""] }) => console.log(shellFunctions.get(shell)))
    .addHelpText("after", "\nExample: source <(npm run -s admin -- completion bash) && admin order list");
};
