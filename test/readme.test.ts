import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logLevels } from "../shared/env.ts";
import { limits } from "../shared/limits.ts";

/** Runs the commands of the READMEs and compares their output, apart from ids, times and keys. */

const root = join(import.meta.dirname, "..");
const textOf = (file: string) => readFileSync(join(root, file), "utf8");
const documents = globSync(["*.md", "{functions,infra,shared,test}/**/*.md"], { cwd: root });
/** The files with `sh tour` blocks, in the order of running them. The first sets variables for all. */
const tours = ["README.md", "infra/local/README.md", "infra/admin/README.md"];
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
  it("have a tour that works and prints what they show", async () => {
    expect(tour.length).toBeGreaterThan(5);
    const marked = tour.map(({ command }, index) => `echo "@@${index}"\n${command}\necho`).join("\n");
    const { output, errors, code } = await run(marked);
    expect([code, errors]).toEqual([0, expect.not.stringMatching(/error/i)]);
    const outputs = output.split(/^@@\d+\n/m).slice(1);
    for (const [index, { command, output: expected }] of tour.entries())
      if (expected !== undefined)
        expect([command, settled(outputs[index] ?? "")]).toEqual([command, settled(expected)]);
  }, 120_000);

  it("have calls for other systems that work with the SDK, and name what `admin env` exports", async () => {
    const [, script = ""] = /## For your systems[\s\S]*?```js\n([\s\S]*?)```/.exec(textOf("README.md")) ?? [];
    const { output, errors, code } = await run(
      `eval "$(npm run -s admin -- env)"\n: "$APPLY_FUNCTION_NAME" "$STATE_MACHINE_ARN" "$AWS_ENDPOINT_URL_LAMBDA" "$AWS_ENDPOINT_URL_SFN"
      '${process.execPath}' --input-type=module <<'SCRIPT'\n${script}\nSCRIPT`,
    );
    expect([code, output, errors]).toEqual([
      0,
      expect.stringMatching(/^arn:aws:states:.+:execution:/),
      expect.anything(),
    ]);
  }, 60_000);

  it("show a typed client as its file has it", () => {
    const code = textOf("docs/examples/list.ts").replace("../../openapi.d.ts", "./openapi.d.ts");
    expect(textOf("README.md")).toContain(`\`\`\`ts\n${code}\`\`\`\n`);
  });

  it.each(["node docs/examples/client.ts", "docs/examples/client.sh"])(
    "link a program that uploads, waits for the carrier and follows events: %s",
    async (program) => {
      // The order is checked out as soon as the program waits for it.
      const { output, errors, code } = await run(`
        admin() { node infra/admin/run.ts "$@"; }
        eval "$(admin env)"
        id() { grep -o '01[0-9A-Z]\\{24\\}' | head -1; }
        ORDER=$(admin order create --account $ACCOUNT | id)
        export REQUEST=$(admin request create --order $ORDER --type ADD_MESSAGING_NUMBERS | id)
        printf '%%PDF-1.7 signed' > "$PATCHBAY_STATE/loa.pdf"
        head -c 5000000 /dev/urandom > "$PATCHBAY_STATE/scan.bin"
        ${program} "$PATCHBAY_STATE/loa.pdf" "$PATCHBAY_STATE/scan.bin" | while read -r line; do
          echo "$line"
          [[ $line != Uploaded* ]] || admin order checkout $ORDER --wait > /dev/null
        done`);
      expect([code, errors]).toEqual([0, expect.not.stringMatching(/error/i)]);
      expect(output.match(/^01\w{24} is with the carrier$/gm)).toHaveLength(2);
      expect(output.match(/request_attachment\.\w+/g)?.sort()).toEqual(
        ["created", "created", "forwarded", "forwarded"].map((event) => `request_attachment.${event}`),
      );
    },
    120_000,
  );

  it("can rely on the printed examples of npm start, which work in a shell", async () => {
    const [, examples = ""] = printed.split("Paste these:");
    const { output, code } = await run(examples.split("In a browser:")[0] ?? "");
    expect([code, output]).toEqual([0, expect.not.stringContaining('"errors"')]);
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
