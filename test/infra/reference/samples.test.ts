import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, inject, it } from "vitest";
import { highlight } from "../../../infra/reference/highlight.ts";
import { languages, type SampleRequest, storageRequest } from "../../../infra/reference/samples.ts";
import { customer } from "../../support/fixtures/tenants.ts";

const url = "https://api.example.com/api/v1/switches";
const calls: Readonly<Record<string, SampleRequest>> = {
  "a list": { method: "GET", url, headers: [] },
  "a JSON body": {
    method: "PATCH",
    url,
    headers: [["If-Match", '"it\'s"']],
    key: "apik_1",
    json: '{"data": {"name": "It\'s \\"here\\" $x $HOME", "on": true, "secret": null, "to": [1, []]}}',
  },
  "text that is not JSON": { method: "POST", url, headers: [], json: "{'" },
  "a form": {
    method: "POST",
    url,
    headers: [],
    form: [
      { name: "data[name]", value: '@it\'s; <all> "quoted"' },
      { name: "data[file]", file: 'it\'s a "\\".pdf' },
    ],
  },
  "a file to storage": {
    method: "PUT",
    url,
    headers: [["Content-Type", "application/pdf"]],
    file: "loa's.pdf",
  },
};

const render = (language: string, request: SampleRequest | undefined) => {
  if (!request) throw new Error("no request");
  return languages.find(({ id }) => id === language)?.render(request) ?? "";
};

/** The arguments that a shell passes to curl. */
const argumentsOf = (name: string) => {
  const sample = render("curl", calls[name]);
  const shell = `curl() { printf '%s\\0' "$@"; }\nKEY=from-env\n${sample}`;
  return execFileSync("bash", ["-c", shell], { encoding: "utf8" }).split("\0").slice(0, -1);
};

const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe("a sample", () => {
  it("quotes the characters that are special to the shell", () => {
    expect(argumentsOf("a list")).toEqual([url, "-H", "Authorization: Bearer from-env"]);
    expect(argumentsOf("a JSON body")).toEqual([
      ...["-X", "PATCH", url, "-H", "Authorization: Bearer apik_1", "-H", 'If-Match: "it\'s"'],
      ...["-H", "Content-Type: application/json", "-d", calls["a JSON body"]?.json],
    ]);
    expect(argumentsOf("a form").slice(3)).toEqual([
      ...["--form-string", 'data[name]=@it\'s; <all> "quoted"'],
      ...["-F", 'data[file]=@"it\'s a \\"\\\\\\".pdf"'],
    ]);
    expect(argumentsOf("a file to storage")).toEqual([
      ...[url, "-w", "%{http_code}\\n", "-g", "-T", "loa's.pdf", "-H", "Content-Type: application/pdf"],
    ]);
  });

  it.each(Object.keys(calls))("is valid TypeScript for %s", (name) => {
    expect(() => stripTypeScriptTypes(render("typescript", calls[name]))).not.toThrow();
    expect(render("typescript", calls[name])).toContain(JSON.stringify(url));
  });

  it.skipIf(!hasPython)("is valid Python", () => {
    const samples = Object.values(calls).map((call) => render("python", call));
    const check = "import ast, json, sys\nfor sample in json.load(sys.stdin): ast.parse(sample)";
    const { status, stderr } = spawnSync("python3", ["-c", check], {
      input: JSON.stringify(samples),
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
  });

  it("is escaped when it is highlighted", () => {
    expect(highlight('curl "<b>" & <i>')).toBe(
      '<span class="keyword">curl</span> <span class="string">&quot;&lt;b&gt;&quot;</span> &amp; &lt;i&gt;',
    );
  });
});

const names = ["c,d.pdf", "a;b.pdf", '"q".pdf', "Smith, John [1].pdf", "{a,b}.pdf", "it's $HOME.pdf"];

describe("a sample with curl", () => {
  const content = "%PDF-1.7 signed";
  const folder = mkdtempSync(join(tmpdir(), "patchbay-samples-"));
  for (const name of names) writeFileSync(join(folder, name), content);
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Runs a sample in the folder of the files, and returns what it prints. */
  const run = async (request: SampleRequest) => {
    const sample = render("curl", request).replace(/^curl/, "curl -sS");
    const { stdout } = await promisify(execFile)("bash", ["-c", sample], { cwd: folder });
    return stdout;
  };

  it.each(names)("uploads %s, by form and directly", async (file) => {
    const {
      key,
      requests: [request],
    } = await customer();
    const parent = `${inject("baseUrl")}/api/v1/requests/${request}`;
    const post = { method: "POST", headers: [], key } as const;
    const form = [
      { name: "data[name]", value: "Letter" },
      { name: "data[file]", file },
    ];
    const uploaded: unknown = JSON.parse(await run({ ...post, url: `${parent}/attachments`, form }));
    expect(uploaded).toMatchObject({ type: "request_attachment", data: { filename: file } });
    const sha256 = createHash("sha256").update(content).digest("hex");
    const data = { filename: file, content_type: "application/pdf", bytes: content.length, sha256 };
    const json = JSON.stringify({ type: "upload", data });
    const put = storageRequest(JSON.parse(await run({ ...post, url: `${parent}/uploads`, json })));
    if (!put) throw new Error("no upload");
    expect(await run(put)).toBe("200\n");
    expect(await run(put)).toMatch(/PreconditionFailed.*412\n$/s);
  });
});
