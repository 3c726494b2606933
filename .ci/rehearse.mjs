// Plays docs/rehearsal.md: runs its `sh played` blocks in one shell, and finds each line of the text block that follows in the output.
// The variables of its chapter "On an emulator" come from the environment.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const page = readFileSync("docs/rehearsal.md", "utf8");
const steps = [...page.matchAll(/```sh played\n([\s\S]*?)```\n(?:\n```text\n([\s\S]*?)```)?/g)];
const mark = "@@ rehearsal";
const script = ["set -euo pipefail", ...steps.map(([, commands]) => `echo '${mark}'\n${commands}`)].join("\n");
const { stdout, stderr, status } = spawnSync("bash", ["-c", script], { encoding: "utf8", maxBuffer: 2 ** 28 });
const outputs = stdout.split(`${mark}\n`).slice(1);

const pattern = (line) => new RegExp(`^${line.split("<any>").map(RegExp.escape).join(".*")}$`, "m");
const faults = outputs.flatMap((output, index) => {
  const [, commands = "", expected = ""] = steps[index] ?? [];
  const missing = expected.split("\n").filter((line) => line && !pattern(line).test(output));
  return missing.map((line) => `This was not printed:\n${line}\nby:\n${commands}which printed:\n${output}`);
});
if (status !== 0 || faults.length > 0) {
  const last = `Step ${outputs.length} of ${steps.length} of docs/rehearsal.md ended with ${status}.`;
  console.error([stderr.slice(-5_000), ...faults, last].join("\n"));
  process.exit(1);
}
console.log(`${steps.length} steps of docs/rehearsal.md were played.`);
