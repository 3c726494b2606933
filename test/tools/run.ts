import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fail, parseArguments } from "../../infra/local/command.ts";
import { install } from "./install.ts";

/** `npm run tools` installs the packages of checks. Other commands install them, then run scripts of this folder's package.json. */

/** The scripts of a list run concurrently, after those of the previous list have succeeded. */
type Command = { readonly does: string; readonly scripts: readonly (readonly string[])[] };

const commands: Readonly<Record<string, Command>> = {
  tools: {
    does: "Installs what checks use, in test/tools. Their commands do it, too.",
    scripts: [],
  },
  check: {
    does: "Checks types, format, lint, unused code, generated tables and openapi.json, with openapi.d.ts as of now.",
    scripts: [["openapi:types"], ["check:types", "check:style", "check:unused", "check:tables", "openapi:lint"]],
  },
  "test:tools": {
    does: "Runs the tests in test/tools, in Chromium where there is one.",
    scripts: [["test:tools"]],
  },
  format: { does: "Formats the code, and fixes what lint can fix.", scripts: [["format"]] },
  "openapi:lint": { does: "Checks openapi.json with Redocly's strict rules.", scripts: [["openapi:lint"]] },
  "openapi:types": { does: "Writes the types of openapi.json to openapi.d.ts.", scripts: [["openapi:types"]] },
};

/** Prints the output of a script once the script ends. Its errors are what was asked for, so that they are output, too. */
const runScript = async (script: string) => {
  const child = spawn(`npm run -s ${script}`, {
    cwd: import.meta.dirname,
    shell: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors, [status, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  process.stdout.write(output + errors);
  if (status !== 0) console.log(`${script} failed: ${signal ?? `exit code ${status}`}.`);
  return status === 0;
};

const run = async () => {
  const [name = "", ...args] = process.argv.slice(2);
  const command = commands[name];
  if (!command) throw new Error(`There is no command ${name}.`);
  parseArguments(`Usage: npm run ${name}\n\n${command.does}`, { args });
  install(import.meta.dirname);
  for (const scripts of command.scripts)
    if ((await Promise.all(scripts.map(runScript))).includes(false)) {
      process.exitCode = 1;
      return;
    }
};

run().catch(fail);
