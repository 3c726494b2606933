import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readSettings } from "../infra/aws/settings.ts";
import { logLevels } from "../shared/env.ts";
import { limits } from "../shared/limits.ts";
import { localServices, userEnvironment } from "./support/processes/local-service.ts";
import { runScript } from "./support/processes/shell.ts";

/** Runs the commands of the READMEs and compares their output, apart from ids, times and keys. */

const root = join(import.meta.dirname, "..");
const textOf = (file: string) => readFileSync(join(root, file), "utf8");
const documents = globSync(["*.md", "{docs,functions,infra,shared,test}/**/*.md"], {
  cwd: root,
  exclude: ["**/node_modules/**"],
});
/** The files with `sh tour` blocks, in the order of running them. The first sets variables for all. */
const tours = ["README.md", "docs/tour.md", "docs/systems.md", "infra/local/README.md", "infra/admin/README.md"];

const services = localServices();
afterAll(() => services.remove());
const service = await services.start([]);
const env = { ...userEnvironment, PATCHBAY_STATE: services.state, PORT: "" };

/** npm takes a third of a second for each command of the CLI. */
const withoutNpm = `npm() { [ "\${*:1:4}" = "run -s admin --" ] && '${process.execPath}' infra/admin/admin.ts "\${@:5}"; }`;

const tour = [
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
    const [, sdk = ""] = /```js\n([\s\S]*?)```/.exec(textOf("docs/systems.md")) ?? [];
    // The variables are those that `admin env` has exported.
    const calls = `: "$AWS_ENDPOINT_URL_LAMBDA" "$AWS_ENDPOINT_URL_SFN"
      '${process.execPath}' --input-type=module <<'SCRIPT'\n${sdk}\nSCRIPT`;
    const commands = [...tour.map(({ command }) => command), calls];
    const marked = commands.map((command, index) => `echo "@@${index}"\n${command}\necho`);
    const { output, errors, code } = await runScript([withoutNpm, ...marked].join("\n"), env);
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
    expect(textOf("docs/tour.md")).toContain(`\`\`\`ts\n${code}\`\`\`\n`);
  });

  it("can rely on the printed examples of npm start, which work in a shell", async () => {
    const [, examples = ""] = service.output.stdout.split("Paste these:");
    const { output, code } = await runScript(examples.split("In a browser:")[0] ?? "", env);
    expect([code, output]).toEqual([0, expect.not.stringContaining('"errors"')]);
    expect(output).toContain('"name":"Scan"');
    for (const type of ["request_attachment", "order_attachment", "list"])
      expect(output).toContain(`{"type":"${type}","data":{`);
  });

  it("name only commands that exist, and each of them", () => {
    const { scripts } = JSON.parse(textOf("package.json"));
    const ofNpm = ["ci", "audit", "install", "and", "nothing", "scripts", "has", "either"];
    const named = documents.flatMap((file) =>
      [...textOf(file).matchAll(/\bnpm (?:run (?:-s )?)?([\w:]+)/g)].map(([, name = ""]) => ({ file, name })),
    );
    expect(named.filter(({ name }) => !ofNpm.includes(name) && !(name in scripts))).toEqual([]);
    expect(named.length).toBeGreaterThan(60);
    expect(Object.keys(scripts).filter((command) => !named.some(({ name }) => name === command))).toEqual([]);
  });

  it("describe every variable that the code reads", () => {
    const read = [...textOf("shared/env.ts").matchAll(/"([A-Z][A-Z0-9_]+)"/g)].map(([, name = ""]) => name);
    const described = [...textOf("infra/README.md").matchAll(/^\| `[A-Z].*? \|/gm)].join("\n");
    const ofTheSystem = logLevels.map(String);
    expect(read.filter((name) => !ofTheSystem.includes(name) && !described.includes(`\`${name}\``))).toEqual([]);
    expect(read.length).toBeGreaterThan(8);
  });

  it("give every limit its value", () => {
    const { form, pageSize, idempotencyKey: key, ...one } = limits;
    const number = (value: number) => value.toLocaleString("en");
    const hours = limits.idempotencySeconds / 3_600;
    const { throttleRate } = readSettings({ stage: "sandbox" }, undefined);
    const rates = [JSON.parse(textOf("infra/aws/stages/production.json")).throttleRate, throttleRate];
    const texts = `| \`name\` of ${one.nameLength}, \`notes\` of ${number(one.notesLength)}, \`filename\` of ${one.filenameLength} characters`;
    const delivery = `| ${one.endpoints} endpoints of ${number(one.endpointLength)}, an identity of ${one.identityLength}, a secret of ${number(one.secretLength)} characters`;
    /** What the documents say of each limit. */
    const said = {
      nameLength: [
        texts,
        `\`name\` has 1 to ${one.nameLength} characters`,
        `create: 1 to ${one.nameLength} characters`,
      ],
      notesLength: [`\`notes\` is null or has at most ${number(one.notesLength)} characters`],
      filenameLength: [`\`filename\` has 1 to ${one.filenameLength} characters`],
      endpoints: [delivery, `at most ${one.endpoints} endpoints of`],
      endpointLength: [`endpoints of at most ${number(one.endpointLength)} characters each`],
      identityLength: [`\`identity\` has at most ${one.identityLength} characters`],
      secretLength: [`\`secret\` at most ${number(one.secretLength)}`],
      pageSize: [
        `| a page of ${pageSize.max} items, ${pageSize.default} by default`,
        `\`first\` (1 to ${pageSize.max}, by default ${pageSize.default})`,
        `\`last\` (1 to ${pageSize.max})`,
      ],
      queryLength: [`A cursor and an \`include\` have at most ${one.queryLength} characters`],
      fileBytes: [
        `| a file of ${number(one.fileBytes)} bytes`,
        `at most ${number(one.fileBytes)} bytes of file`,
        `| \`MAX_FILE_BYTES\` | ${number(one.fileBytes)} |`,
      ],
      uploadBytes: [
        `| a file of ${number(one.uploadBytes)} bytes`,
        `up to ${number(one.uploadBytes)} bytes`,
        `| \`MAX_UPLOAD_BYTES\` | ${number(one.uploadBytes)} |`,
      ],
      uploadSeconds: [one.uploadSeconds === 3_600 ? "one hour later" : `${one.uploadSeconds} seconds later`],
      jsonBytes: [`| a JSON body of ${number(one.jsonBytes)} bytes`],
      form: [`| a form of ${form.parts} parts, with ${number(form.fieldBytes)} bytes in each field`],
      idempotencyKey: [
        `| an \`Idempotency-Key\` of ${key.length} characters, remembered for ${hours} hours`,
        `has 1 to ${key.length} visible ASCII characters`,
      ],
      idempotencySeconds: [`For ${hours} hours the same key`],
      accountLevels: [
        `| ${one.accountLevels} levels of accounts`,
        `Account trees have at most ${one.accountLevels} levels`,
      ],
      permissions: [`at most ${number(one.permissions)} permissions of at most ${one.permissionLength} characters`],
      permissionLength: [],
      dateTimeLength: [],
      labelLength: [`\`label\` of at most ${one.labelLength} characters`],
      onBehalfOfLength: [`\`on_behalf_of\` of at most ${one.onBehalfOfLength}`],
    } satisfies Record<keyof typeof limits, readonly string[]>;
    const all = ["docs/limits.md", "functions/README.md", "infra/README.md", "infra/admin/README.md"]
      .map(textOf)
      .join("\n");
    const words = all.replaceAll(/\s+/g, " ");
    const throttle = `| ${rates[0]} requests a second in production, ${rates[1]} in a sandbox`;
    expect([throttle, ...Object.values(said).flat()].filter((text) => !words.includes(text))).toEqual([]);
  });
});
