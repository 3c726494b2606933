import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { localServices } from "../support/processes/local-service.ts";
import type { Line } from "./terminal.ts";

/** Records a real run of `npm start` and of the beginning of the README's tour. */

const root = join(import.meta.dirname, "../..");

/** The tour's first commands, as many as fit into half a minute. */
const tourLength = 4;

const tour = (): readonly string[] => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const blocks = [...readme.matchAll(/```sh tour\n([\s\S]*?)```/g)].map(([, command = ""]) => command.trim());
  return blocks.slice(0, tourLength);
};

const run = async (command: string, env: NodeJS.ProcessEnv): Promise<string> => {
  const shell = spawn("bash", ["-euo", "pipefail", "-c", command], { cwd: root, env });
  const [output, errors, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, "close")]);
  if (code !== 0) throw new Error(`The tour's command failed:\n${command}\n${errors}`);
  return output.trimEnd();
};

/** Replaces the free port of the recording with the default port. */
const withUsualPort = (output: string, url: string) => output.replaceAll(url, "http://127.0.0.1:3000");

const outputLines = (output: string): readonly Line[] =>
  output.split("\n").map((line, index) => ({ kind: "output", text: line, after: index === 0 ? 0.7 : 0.05 }));

const commandLines = (command: string): readonly Line[] =>
  command.split("\n").map((line, index) => ({
    kind: "command",
    text: `${index === 0 ? "$ " : "  "}${line}`,
    after: index === 0 ? 1.6 : 0.15,
  }));

export const recordSession = async (): Promise<readonly Line[]> => {
  const services = localServices();
  const { url, output: printed } = await services.start(["--quiet"]);
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PATCHBAY_STATE: services.state };
  const lines: Line[] = [...commandLines("npm start"), ...outputLines(withUsualPort(printed.stdout.trimEnd(), url))];
  lines.push({ kind: "comment", text: "# in a second terminal", after: 2 });
  const [environment = "", ...commands] = tour();
  lines.push(...commandLines(environment));
  for (const command of commands) {
    const output = await run(`${environment}\n${command}`, env);
    lines.push(...commandLines(command), ...outputLines(withUsualPort(output, url)));
  }
  await services.remove();
  return lines;
};
