import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { logLevels } from "../shared/env.ts";
import { limits } from "../shared/limits.ts";
import { localServices, userEnvironment } from "./support/processes/local-service.ts";

/** Runs the commands of the READMEs and compares their output, apart from ids, times and keys. */

const root = join(import.meta.dirname, "..");
const textOf = (file: string) => readFileSync(join(root, file), "utf8");
const documents = globSync(["*.md", "{functions,infra,shared,test}/**/*.md"], { cwd: root });
/** The files with `sh tour` blocks, in the order of running them. The first sets variables for all. */
const tours = ["README.md", "infra/local/README.md", "infra/admin/README.md"];

const services = localServices();
afterAll(() => services.remove());
const service = await services.start([]);
const env = { ...userEnvironment, PATCHBAY_STATE: services.state, PORT: "" };

/** npm takes a third of a second for each command of the CLI. */
const withoutNpm = `npm() { [ "\${*:1:4}" = "run -s admin --" ] && '${process.execPath}' infra/admin/run.ts "\${@:5}"; }`;

/** Runs a script in bash. `onLine` is called with each line that it prints. */
const run = async (script: string, variables = {}, onLine = async (_: string) => {}) => {
  const shell = spawn("bash", ["-euo", "pipefail", "-c", script], { cwd: root, env: { ...env, ...variables } });
  const exit = once(shell, "close");
  const errors = text(shell.stderr);
  let output = "";
  for await (const line of createInterface({ input: shell.stdout })) {
    output += `${line}\n`;
    await onLine(line);
  }
  const [code] = await exit;
  return { output, errors: await errors, code };
};

const One = z.object({ one: z.object({ id: z.string() }) });
const Applied = z.object({ orders: One, requests: One });

type Block = { readonly command: string; readonly output: string | undefined };
const tour: Block[] = [
  ...tours
    .map(textOf)
    .join("\n")
    .matchAll(/```sh tour\n([\s\S]*?)```\n(?:\n```(?:json|text)\n([\s\S]*?)```)?/g),
].map(([, command = "", output]) => ({ command, output }));

const settled = (output: string) =>
  output
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "<time>")
    .replaceAll(/01[0-9A-HJKMNP-TV-Z]{24}/g, "<id>")
    .replaceAll(/01[0-9A-HJKMNP-TV-Z]{10,}…/g, "<id>…")
    .trim();

describe("the READMEs", () => {
  it("have a tour that works and prints what they show, and calls for other systems that work with the SDK", async () => {
    expect(tour.length).toBeGreaterThan(5);
    const [, sdk = ""] = /## For your systems[\s\S]*?```js\n([\s\S]*?)```/.exec(textOf("README.md")) ?? [];
    // The variables are those that `admin env` has exported.
    const calls = `: "$AWS_ENDPOINT_URL_LAMBDA" "$AWS_ENDPOINT_URL_SFN"
      '${process.execPath}' --input-type=module <<'SCRIPT'\n${sdk}\nSCRIPT`;
    const commands = [...tour.map(({ command }) => command), calls];
    const marked = commands.map((command, index) => `echo "@@${index}"\n${command}\necho`);
    const { output, errors, code } = await run([withoutNpm, ...marked].join("\n"));
    expect([code, errors]).toEqual([0, expect.not.stringMatching(/error/i)]);
    const outputs = output.split(/^@@\d+\n/m).slice(1);
    for (const [index, { command, output: expected }] of tour.entries())
      if (expected !== undefined)
        expect([command, settled(outputs[index] ?? "")]).toEqual([command, settled(expected)]);
    expect(outputs.at(-1)).toMatch(/^arn:aws:states:.+:execution:/);
  });

  it("show lines for each request, event, step and call to the carrier in the terminal of npm start", () => {
    const { stdout, stderr } = service.output;
    for (const line of [
      /^POST {5}201 +\d+ ms {2}\/api\/v1\/requests\/\w{26}\/attachments {2}acme$/m,
      /^event {8}request_attachment\.created {2}\w{26} {2}by api_key \w{26} {2}\w{26}$/m,
      /^step +\d+ ms {2}checkout\/seal {2}\w{26} {2}\w+$/m,
      /^carrier {2}201 {11}PUT \/carts\/\w{26}\/requests\/\w{26}\/attachments\/\w{26}$/m,
    ])
      expect(stdout).toMatch(line);
    expect(stdout + stderr).not.toContain("\u001b");
  });

  it("show a typed client as its file has it", () => {
    const code = textOf("docs/examples/list.ts").replace("../../openapi.d.ts", "./openapi.d.ts");
    expect(textOf("README.md")).toContain(`\`\`\`ts\n${code}\`\`\`\n`);
  });

  it.each(["node docs/examples/client.ts", "docs/examples/client.sh"])(
    "link a program that uploads, waits for the carrier and follows events: %s",
    async (program) => {
      const { ACCOUNT: account } = service.demo;
      const file = {
        orders: { one: { account } },
        requests: { one: { order: "one", type: "ADD_MESSAGING_NUMBERS" } },
      };
      const { orders, requests } = z.parse(Applied, await service.apply(file));
      const [loa, scan] = ["loa.pdf", "scan.bin"].map((name) => join(services.state, "..", name));
      writeFileSync(loa ?? "", "%PDF-1.7 signed");
      writeFileSync(scan ?? "", randomBytes(5_000_000));
      const { EVENTS } = service.environment;
      const { output, errors, code } = await run(
        `${program} '${loa}' '${scan}'`,
        { ...service.demo, URL: service.url, EVENTS, REQUEST: requests.one.id },
        // The order is checked out as soon as the program waits for it.
        async (line) => {
          if (line.startsWith("Uploaded")) await service.startCheckout(orders.one.id);
        },
      );
      expect([code, errors]).toEqual([0, expect.not.stringMatching(/error/i)]);
      expect(output.match(/^01\w{24} is with the carrier$/gm)).toHaveLength(2);
      expect(output.match(/request_attachment\.\w+/g)?.sort()).toEqual(
        ["created", "created", "forwarded", "forwarded"].map((event) => `request_attachment.${event}`),
      );
    },
  );

  it("can rely on the printed examples of npm start, which work in a shell", async () => {
    const [, examples = ""] = service.output.stdout.split("Paste these:");
    const { output, code } = await run(examples.split("In a browser:")[0] ?? "");
    expect([code, output]).toEqual([0, expect.not.stringContaining('"errors"')]);
    expect(output).toContain('"name":"Scan"');
    for (const type of ["request_attachment", "order_attachment", "list"])
      expect(output).toContain(`{"type":"${type}","data":{`);
  });

  it("name only commands that exist", () => {
    const { scripts } = JSON.parse(textOf("package.json"));
    const ofNpm = ["ci", "audit", "install", "and", "nothing", "scripts", "has", "either"];
    const named = documents.flatMap((file) =>
      [...textOf(file).matchAll(/\bnpm (?:run (?:-s )?)?([\w:]+)/g)].map(([, name = ""]) => ({ file, name })),
    );
    expect(named.filter(({ name }) => !ofNpm.includes(name) && !(name in scripts))).toEqual([]);
    expect(named.length).toBeGreaterThan(60);
  });

  it("name every command of npm run", () => {
    const { scripts } = JSON.parse(textOf("package.json"));
    const all = documents.map(textOf).join("\n");
    // npm runs `pre…` scripts by itself.
    const named = Object.keys(scripts).filter((name) => !name.startsWith("pre"));
    expect(named.filter((name) => !new RegExp(`npm (run (-s )?)?${name}\\b`).test(all))).toEqual([]);
  });

  it("link only to files that exist", () => {
    const links = documents.flatMap((file) =>
      [...textOf(file).matchAll(/\]\((?!https?:)([^)#]+)|(?:src|srcset)="([^"]+)"/g)].map(
        ([, link = "", source = ""]) => ({ file, path: join(dirname(file), link || source) }),
      ),
    );
    expect(links.filter(({ path }) => !existsSync(join(root, path)))).toEqual([]);
    expect(links.length).toBeGreaterThan(10);
  });

  it("describe every variable that the code reads", () => {
    const read = [...textOf("shared/env.ts").matchAll(/"([A-Z][A-Z0-9_]+)"/g)].map(([, name = ""]) => name);
    const described =
      textOf("infra/README.md")
        .match(/^\| `[A-Z].*? \|/gm)
        ?.join("\n") ?? "";
    const ofTheSystem = logLevels.map(String);
    expect(read.filter((name) => !ofTheSystem.includes(name) && !described.includes(`\`${name}\``))).toEqual([]);
    expect(read.length).toBeGreaterThan(8);
  });

  it("give every limit its value", () => {
    const number = (value: number) => value.toLocaleString("en");
    const { form, pageSize, idempotencyKey } = limits;
    const [production, sandbox] = ["production", "sandbox"].map(
      (stage) => JSON.parse(textOf(`infra/aws/stages/${stage}.json`)).throttleRate,
    );
    const table = textOf("README.md").split("| beyond it |")[1]?.split("\n\n")[0]?.split("\n") ?? [];
    const begins = [
      `a file of ${number(limits.fileBytes)} bytes`,
      `a JSON body of ${number(limits.jsonBytes)} bytes`,
      `a form of ${form.parts} parts, with ${number(form.fieldBytes)} bytes in each field`,
      `\`name\` of ${limits.nameLength}, \`notes\` of ${number(limits.notesLength)}, \`filename\` of ${limits.filenameLength} characters`,
      `${limits.endpoints} endpoints of ${number(limits.endpointLength)}, an identity of ${limits.identityLength}, a secret of ${number(limits.secretLength)} characters`,
      `a page of ${pageSize.max} items, ${pageSize.default} by default`,
      `an \`Idempotency-Key\` of ${idempotencyKey.length} characters, remembered for ${limits.idempotencySeconds / 3_600} hours`,
      `${limits.accountLevels} levels of accounts`,
      `${production} requests a second in production, ${sandbox} in a sandbox`,
    ];
    expect(begins.filter((text) => !table.some((row) => row.startsWith(`| ${text}`)))).toEqual([]);
  });
});
