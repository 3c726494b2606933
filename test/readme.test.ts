import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { createProgram } from "../infra/admin/program.ts";
import { portalPermissions } from "../shared/tenants/permissions.ts";
import { localServices, userEnvironment } from "./support/processes/local-service.ts";
import { runScript } from "./support/processes/shell.ts";

/** Runs the commands of the READMEs and compares their output, except ids, times and keys. */

const root = join(import.meta.dirname, "..");
const textOf = (file: string) => readFileSync(join(root, file), "utf8");
const documents = globSync(["*.md", "{docs,functions,infra,shared,test}/**/*.md"], {
  cwd: root,
  exclude: ["**/node_modules/**"],
});
/** The files with `sh tour` blocks, in running order. The first sets variables for all. */
const tours = ["README.md", "docs/tour.md", "docs/systems.md", "infra/local/README.md", "infra/admin/README.md"];

const services = localServices();
afterAll(() => services.remove());
const service = await services.start([]);
const env = { ...userEnvironment, PATCHBAY_STATE: services.state, PORT: "" };

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

const Id = z.object({ id: z.string() });
const Customer = z.object({ users: z.object({ portal: z.object({ permissions: z.array(z.string()) }) }) });
const Applied = z.object({
  accounts: z.object({ acme: Id }),
  keys: z.object({ portal: z.object({ key: z.string() }) }),
});
const Ordered = z.object({ orders: z.object({ o: Id }), requests: z.object({ r: Id }) });

describe("the READMEs", () => {
  it("have a tour that works and prints what they show, and calls for other systems that work with the SDK", async () => {
    expect(tour.length).toBeGreaterThan(5);
    const calls = `eval "$(./patchbay env)"
      : "$AWS_ENDPOINT_URL_LAMBDA" "$AWS_ENDPOINT_URL_SFN"
      '${process.execPath}' docs/examples/ordering.mjs`;
    const commands = [...tour.map(({ command }) => command), calls];
    const marked = commands.map((command, index) => `echo "@@${index}"\n${command}\necho`);
    const { output, errors, code } = await runScript(marked.join("\n"), env);
    expect([code, errors]).toEqual([0, expect.not.stringMatching(/error/i)]);
    const outputs = output.split(/^@@\d+\n/m).slice(1);
    for (const [index, { command, output: expected }] of tour.entries())
      if (expected !== undefined)
        expect([command, settled(outputs[index] ?? "")]).toEqual([command, settled(expected)]);
    expect(outputs.at(-1)).toMatch(/^arn:aws:states:.+:execution:/);
  });

  it("give a portal's user the same permissions in every example, with which its key reaches every list", async () => {
    const [, firstDay = ""] = /user create ((?:.*\\\n)*.*)/.exec(textOf("docs/rehearsal.md")) ?? [];
    const ofFirstDay = [...firstDay.matchAll(/--permission '?([\w:*]+)/g)].map(([, one]) => one);
    expect(ofFirstDay.sort()).toEqual([...portalPermissions].sort());
    const customer = z.parse(Customer, JSON.parse(textOf("docs/examples/customer.json")));
    expect(customer.users.portal.permissions.sort()).toEqual(ofFirstDay);
    const example = `./patchbay apply --help | sed -n "/echo '/,/apply -/p"`;
    const { output } = await runScript(`eval "$(${example})"`, env);
    const { accounts, keys } = z.parse(Applied, JSON.parse(output));
    const order = { orders: { o: { account: accounts.acme.id } }, requests: { r: { order: "o", type: "OTHER" } } };
    const { output: ordered } = await runScript(`echo '${JSON.stringify(order)}' | ./patchbay apply -`, env);
    const { orders, requests } = z.parse(Ordered, JSON.parse(ordered));
    const headers = { authorization: `Bearer ${keys.portal.key}` };
    for (const path of ["switches", `orders/${orders.o.id}/attachments`, `requests/${requests.r.id}/attachments`])
      expect((await fetch(`${service.url}/api/v1/${path}`, { headers })).status, path).toBe(200);
  });

  it("show lines for each request, event, step and call to the carrier in the terminal of npm start", () => {
    const { stdout, stderr } = service.output;
    for (const line of [
      /^POST {5}201 +\d+ ms {2}\/api\/v1\/requests\/\w{26}\/attachments {2}acme$/m,
      /^event {4}\S+Z {2}request_attachment\.created {2}\w{26} {2}by api_key \w{26} {2}\w{26}$/m,
      /^step +\d+ ms {2}checkout\/submit {2}\w{26} {2}\w+$/m,
      /^carrier {2}201 {11}PUT \/carts\/\w{26}\/requests\/\w{26}\/attachments\/\w{26}$/m,
    ])
      expect(stdout).toMatch(line);
    expect(stdout + stderr).not.toContain("\u001b");
  });

  it("can rely on the printed examples of npm start, whose files the checkout of the first minute forwards", async () => {
    const other = await services.start([]);
    const [, examples = ""] = other.output.stdout.split("Paste these:");
    const { output, code } = await runScript(examples.split("In a browser:")[0] ?? "", env);
    expect([code, output]).toEqual([0, expect.not.stringContaining('"errors"')]);
    expect(output).toContain('"name":"Scan"');
    for (const type of ["request_attachment", "order_attachment", "list"])
      expect(output).toContain(`{"type":"${type}","data":{`);
    const checkout = await other.admin("order", "checkout", other.demo.ORDER ?? "", "--wait");
    // The order's attachment goes under each of its two requests.
    expect(checkout).toMatchObject({ code: 0, stderr: expect.stringContaining("4 of 4 files forwarded") });
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

  /** The inline code of a document, and the lines of its code blocks. */
  const codeIn = (file: string) => {
    const parts = textOf(file).split("```");
    const texts = parts.filter((_, index) => index % 2 === 0).join("");
    const inline = [...texts.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code.replaceAll(/\s+/g, " "));
    return { inline, lines: parts.filter((_, index) => index % 2 === 1).flatMap((block) => block.split("\n")) };
  };

  it("name only commands and options of the CLI that exist", async () => {
    const program = await createProgram();
    const named = documents
      .map(codeIn)
      .flatMap(({ inline, lines }) => [
        ...[...inline, ...lines].flatMap((code) => /\bpatchbay (?:--(?:stack|port) \S+ )?(\w.*)/.exec(code)?.[1] ?? []),
        ...inline.filter((code) => program.commands.some((one) => one.name() === code.split(" ")[0])),
      ]);
    const programs = ["start", "console", "carrier", "docs", "synth", "deploy", "deploy-local", "destroy"];
    const wrong = named.filter((called) => {
      if (programs.includes(called.split(" ")[0] ?? "")) return false;
      const words = called.replace(/[#|)].*/, "").split(" ");
      let command = program;
      while (command.commands.length > 0 && words[0] && /^\w+$/.test(words[0])) {
        const next = command.commands.find((one) => one.name() === words[0]);
        if (!next) return true;
        command = next;
        words.shift();
      }
      const options = [...command.options, ...program.options].map(({ long }) => long);
      return words.some((word) => word.startsWith("--") && word !== "--help" && !options.includes(word));
    });
    expect(wrong).toEqual([]);
    expect(named.length).toBeGreaterThan(60);
  });

  /** Names of other programs. */
  const others = `AWSManagedRulesCommonRuleSet SizeRestrictions_BODY PutSecretValue
    SendObjectMalwareScan SetStackPolicy LAMBDA_DOCKER_FLAGS cacheMiddleware CreateSwitchData UPDATE_ROLLBACK_COMPLETE UPDATE_ROLLBACK_FAILED ExecutionsFailed
    --warm-throughput --resource-mapping --global-secondary-index-updates WarmThroughput ReadUnitsPerSecond WriteUnitsPerSecond --add-host --omit --cli-binary-format`;

  it("name only options, settings, variables, alarms and properties that a file of the repository has", () => {
    const code = "{.ci,docs,functions,infra,shared,test}/**/*.{js,json,mjs,py,sh,ts,txt,yaml}";
    const files = globSync(["*.{json,yaml,ts}", code], { cwd: root, exclude: ["**/node_modules/**"] });
    const sources = [...files, ...files.map(textOf), others].join("\n");
    const named = documents.flatMap((file) =>
      codeIn(file)
        .inline.filter((text) => !text.startsWith("aws "))
        .flatMap((text) => text.match(/--[a-z][\w-]+|\w*[a-z_][A-Z_]\w*/g) ?? [])
        .map((name) => ({ file, name: name.replace(/\d+$/, "") })),
    );
    expect(named.filter(({ name }) => !sources.includes(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(300);
  });
});
