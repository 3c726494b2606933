import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** The README's commands, run word for word; what they print is what it says, but for ids, times and keys. */

const root = join(import.meta.dirname, "..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const state = mkdtempSync(join(tmpdir(), "patchbay-readme-"));

/** A new user's environment: nothing of the tests' own service. */
const ours = /^(TABLE_NAME|BUCKET_NAME|AWS_ENDPOINT_URL|STATE_MACHINE_|CARRIER_|PATCHBAY_|PORT$|npm_)/;
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name))),
  PATCHBAY_STATE: state,
  PORT: "0",
};

const service = spawn(process.execPath, ["infra/local/run.ts"], { cwd: root, env });
let printed = "";
service.stdout.on("data", (chunk) => {
  printed += chunk;
});
beforeAll(async () => {
  while (!printed.includes("Stop: Ctrl-C")) await once(service.stdout, "data");
});
afterAll(async () => {
  service.kill("SIGINT");
  await once(service, "exit");
  rmSync(state, { recursive: true });
});

const run = async (script: string) => {
  const shell = spawn("bash", ["-euo", "pipefail", "-c", script], { cwd: root, env: { ...env, PORT: "" } });
  const exit = once(shell, "close");
  const [output, errors] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
  const [code] = await exit;
  return { output, errors, code };
};

type Block = { readonly command: string; readonly output: string | undefined };
const tour: Block[] = [...readme.matchAll(/```sh tour\n([\s\S]*?)```\n(?:\n```(?:json|text)\n([\s\S]*?)```)?/g)].map(
  ([, command = "", output]) => ({ command, output }),
);

const settled = (output: string) =>
  output
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "<time>")
    .replaceAll(/01[0-9A-HJKMNP-TV-Z]{24}/g, "<id>")
    .replaceAll(/01[0-9A-HJKMNP-TV-Z]{10,}…/g, "<id>…")
    .trim();

describe("the README", () => {
  it("has a tour that works word for word and prints what it says", async () => {
    expect(tour.length).toBeGreaterThan(5);
    const marked = tour.map(({ command }, index) => `echo "@@${index}"\n${command}\necho`).join("\n");
    const { output, errors, code } = await run(marked);
    expect([code, errors]).toEqual([0, expect.not.stringMatching(/error/i)]);
    const outputs = output.split(/^@@\d+\n/m).slice(1);
    for (const [index, { command, output: told }] of tour.entries())
      if (told !== undefined) expect([command, settled(outputs[index] ?? "")]).toEqual([command, settled(told)]);
  }, 120_000);

  it("prints examples at the start that work when pasted", async () => {
    const [, examples = ""] = printed.split("Paste these:");
    const { output, code } = await run(examples.split("In a browser:")[0] ?? "");
    expect([code, output]).toEqual([0, expect.not.stringContaining('"errors"')]);
    for (const type of ["request_attachment", "order_attachment", "list"])
      expect(output).toContain(`{"type":"${type}","data":{`);
  });

  it("names only commands that there are", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const named = [...readme.matchAll(/npm (?:run (?:-s )?)?([\w:]+)/g)].map(([, name = ""]) => name);
    const npmsOwn = ["ci", "and", "nothing"];
    expect(named.filter((name) => !npmsOwn.includes(name) && !(name in scripts))).toEqual([]);
    expect(named.length).toBeGreaterThan(20);
  });

  it("names every variable that the code reads", () => {
    const source = readFileSync(join(root, "shared/env.ts"), "utf8");
    const read = [...source.matchAll(/"([A-Z][A-Z0-9_]+)"/g)].map(([, name = ""]) => name);
    expect(read.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
    expect(read.length).toBeGreaterThan(8);
  });
});
