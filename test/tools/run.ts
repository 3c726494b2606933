import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { fail } from "../../infra/local/command.ts";
import { install } from "./install.ts";

/** `npm run tools` installs what single checks use. The other commands install it, then run scripts of this folder's package.json. */

const commands = {
  tools: {
    does: "Installs what checks use, in test/tools. Their commands do it, too.",
    scripts: [],
  },
  check: {
    does: "Checks types, format, lint and unused code, with openapi.d.ts as of now.",
    scripts: ["openapi:types", "check"],
  },
  format: { does: "Formats the code, and mends what lint can mend.", scripts: ["format"] },
  "openapi:lint": { does: "Checks openapi.json with Redocly's strict rules.", scripts: ["openapi:lint"] },
  "openapi:types": { does: "Writes the types of openapi.json to openapi.d.ts.", scripts: ["openapi:types"] },
};

const run = () => {
  const [name = "", ...args] = process.argv.slice(2);
  const command = new Map(Object.entries(commands)).get(name);
  const { values } = parseArgs({ args, options: { help: { type: "boolean" } } });
  if (values.help || !command) return console.log(`Usage: npm run ${name}\n\n${command?.does}`);
  install(import.meta.dirname);
  for (const script of command.scripts) {
    const options = { cwd: import.meta.dirname, shell: true, stdio: "inherit" } as const;
    const { status } = spawnSync(`npm run -s ${script}`, options);
    if (status !== 0) return process.exit(status ?? 1);
  }
};

try {
  run();
} catch (error) {
  fail(error);
}
