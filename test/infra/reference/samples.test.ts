import { execFileSync, spawnSync } from "node:child_process";
import { stripTypeScriptTypes } from "node:module";
import { describe, expect, it } from "vitest";
import { highlight } from "../../../infra/reference/highlight.ts";
import { languages, type SampleRequest } from "../../../infra/reference/samples.ts";

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
      { name: "data[file]", file: "loa's.pdf" },
    ],
  },
  "a file to storage": {
    method: "PUT",
    url,
    headers: [["Content-Type", "application/pdf"]],
    file: "loa's.pdf",
  },
};

const render = (language: string, name: string) => {
  const call = calls[name];
  if (!call) throw new Error(`no call ${name}`);
  return languages.find(({ id }) => id === language)?.render(call) ?? "";
};

/** The arguments that a shell passes to curl. */
const argumentsOf = (sample: string) =>
  execFileSync("bash", ["-c", `curl() { printf '%s\\0' "$@"; }\nKEY=from-env\n${sample}`], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1);

const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe("a sample", () => {
  it("quotes the characters that are special to the shell", () => {
    expect(argumentsOf(render("curl", "a list"))).toEqual([url, "-H", "Authorization: Bearer from-env"]);
    expect(argumentsOf(render("curl", "a JSON body"))).toEqual([
      ...["-X", "PATCH", url, "-H", "Authorization: Bearer apik_1", "-H", 'If-Match: "it\'s"'],
      ...["-H", "Content-Type: application/json", "-d", calls["a JSON body"]?.json],
    ]);
    expect(argumentsOf(render("curl", "a form")).slice(3)).toEqual([
      ...["--form-string", 'data[name]=@it\'s; <all> "quoted"'],
      ...["-F", "data[file]=@loa's.pdf"],
    ]);
    expect(argumentsOf(render("curl", "a file to storage"))).toEqual([
      ...[url, "-T", "loa's.pdf", "-H", "Content-Type: application/pdf"],
    ]);
  });

  it.each(Object.keys(calls))("is valid TypeScript for %s", (name) => {
    expect(() => stripTypeScriptTypes(render("typescript", name))).not.toThrow();
    expect(render("typescript", name)).toContain(JSON.stringify(url));
  });

  it.skipIf(!hasPython).each(Object.keys(calls))("is valid Python for %s", (name) => {
    const { status, stderr } = spawnSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], {
      input: render("python", name),
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
