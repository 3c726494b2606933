import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { listen } from "../../infra/local/listen.ts";

/**
 * Runs drivers, given as shell commands, against a proxy that records what each client writes. Makes a table of that and of what
 * the service stores. Compares the table with README.md, or writes it there with --write. A driver reads the cases from the file
 * $CASES: for each, a file's name and a text, each followed by a NUL. It posts case 0 of axios 1.0 to $TO/axios/1.0/0.
 */
const { values, positionals: drivers } = parseArgs({ options: { write: { type: "boolean" } }, allowPositionals: true });
const { URL: service, KEY, REQUEST, CASES = "" } = process.env;
const readme = new URL("README.md", import.meta.url);
/** The version of these clients depends on the machine. */
const unpinned = /^(curl|Go) .*/;

const texts = ['Größe 委任状 📄 "50 %" a\\b\nzweite Zeile', "Größe: ½ m²"];
const names = ["Größe.pdf", "LOA (1), R&D @ a=b.pdf", "委任状📄.pdf", 'a"b.pdf', "a\\b.pdf", "100%.pdf", "a\nb.pdf"];
const long = [255, 256].map((length) => `${"ö".repeat(length - 4)}.pdf`);
const cases = [...names, ...long]
  .map((name) => ({ name, text: "" }))
  .concat(texts.map((text) => ({ name: "loa.pdf", text })));
const shown = (written: string) =>
  `\`${written.replaceAll(/\r?\n/g, "⏎").replace(/((?:ö|\?|%C3%B6){9}).*(?=\.)/, "$1…")}\``;
const titles = [...names.map(shown), "255 × ö", "256 × ö", "text", "text in Latin-1"];
/** What every client should come to. A filename has at most 255 characters. */
const wanted = titles.map((title) => (title === "256 × ö" ? "422" : "="));

type Part = { readonly headers: string; readonly content: string };

/** The part of a form that has the given name. */
const partOf = (body: string, boundary: string, name: string): Part => {
  const parts = body.split(`--${boundary}`).map((part) => /^\r\n(.*?)\r\n\r\n(.*)\r\n$/s.exec(part) ?? []);
  const [, headers = "", content = ""] = parts.find((found) => found[1]?.includes(`"${name}"`)) ?? [];
  return { headers, content };
};

const failures: string[] = [];

/** Folders and line breaks are not stored. */
const base = (name: string) => name.replaceAll(/.*\\|\n/g, "");

/** Returns `=` if the name is written as it is, else what is written; then `422` if nothing is stored, or `≠` if another name is. */
const nameCell = (name: string, { headers }: Part, stored: string | undefined) => {
  const [, written = ""] = /filename=(.*?)(?:\r\n[\w-]+:|$)/is.exec(headers) ?? [];
  const [, plain = ""] = /^"(.*)"$/s.exec(written) ?? [];
  if (stored !== undefined && stored !== base(name) && stored !== base(plain))
    failures.push(`${shown(stored)} is stored for ${shown(written)}`);
  const outcome = stored === undefined ? "422" : stored === base(name) ? "" : "≠";
  if (long.includes(name)) return outcome || "=";
  return [plain === name ? "=" : shown(written), outcome].filter(Boolean).join(" ");
};

/** The same for a text. A line break in a form is a CRLF, which many clients write for an LF. */
const textCell = (text: string, { headers, content }: Part, stored: string | undefined) => {
  const [, charset = "utf-8"] = /charset="?([\w-]+)/i.exec(headers) ?? [];
  const isUtf8 = charset.toLowerCase() === "utf-8";
  // Java writes a question mark for a character that a charset does not have.
  const possible = isUtf8 ? text : text.replaceAll(/[^\0-\xff]/gu, "?");
  if (stored !== undefined && stored.replace("\r\n", "\n") !== possible)
    failures.push(`${shown(stored)} is stored as text`);
  const written = !isUtf8 ? charset : content.includes("\r\n") ? "CRLF" : "=";
  const outcome = stored === undefined ? " 422" : possible === text ? "" : " ≠";
  return `${written}${outcome}`;
};

const rows = new Map<string, string[]>();

/** Forwards a form, and records it. Returns the status and body of the response. */
const record = async (path: string, contentType: string, body: Buffer): Promise<readonly [number, string]> => {
  const response = await fetch(`${service}/api/v1/requests/${REQUEST}/attachments`, {
    method: "POST",
    headers: { Authorization: `Bearer ${KEY}`, "Content-Type": contentType },
    body: Uint8Array.from(body),
  });
  const json = await response.text();
  const [name = "", version = "", index = ""] = path.slice(1).split("/").map(decodeURIComponent);
  const client = `${name} ${version}`;
  const sent = cases[Number(index)] ?? { name: "", text: "" };
  const [, boundary = ""] = /boundary="?([^";]+)/.exec(contentType) ?? [];
  const part = (name: string) => partOf(body.toString(), boundary, name);
  const { data, errors = [] } = JSON.parse(json);
  const cells = rows.get(client) ?? cases.map(() => "not sent");
  cells[Number(index)] = sent.text
    ? textCell(sent.text, part("data[notes]"), data?.notes)
    : nameCell(sent.name, part("data[file]"), data?.filename);
  rows.set(client, cells);
  for (const { detail } of errors)
    console.log(`${client}, ${shown(sent.text || sent.name)}: ${response.status} ${detail}`);
  if (!data && response.status !== 422) failures.push(`${path}: ${json}`);
  return [response.status, json];
};

const proxy = createServer(async (request, response) => {
  const { url = "", headers } = request;
  const [status, json] = await record(url, headers["content-type"] ?? "", await buffer(request));
  response.writeHead(status, { "Content-Type": "application/json" }).end(json);
});
const { url: proxyUrl } = await listen(proxy, 0);
writeFileSync(CASES, cases.map(({ name, text }) => `${name}\0${text}\0`).join(""));
for (const driver of drivers) {
  const env = { ...process.env, TO: proxyUrl };
  const [status] = await once(spawn(driver, { shell: "bash", stdio: "inherit", env }), "exit");
  if (status !== 0) failures.push(`${driver} has failed`);
}
proxy.close();

const page = readFileSync(readme, "utf8");
const groups = Map.groupBy(rows, ([, cells]) =>
  cells.flatMap((cell, index) => (cell === wanted[index] ? [] : `${titles[index]}: ${cell}`)).join("; "),
);
const lines = Array.from(groups, ([cells, all]) => `${all.map(([client]) => client).join(", ")} | ${cells}`);
const table = ["clients | what else they write", "--- | ---", ...lines].map((line) => `| ${line} |\n`);
if (values.write)
  writeFileSync(
    readme,
    page.replace(/(^\|.*\n)+/m, () => table.join("")),
  );
/** Each client with its cells. */
const clientsIn = (text: string) =>
  Array.from(text.matchAll(/^\| (.*?) (\|.*)/gm), ([, clients = "", cells = ""]) =>
    clients.split(", ").map((client) => `${client.replace(unpinned, "$1")} ${cells}`),
  ).flat();
const documented = clientsIn(page);
for (const client of values.write ? [] : clientsIn(table.join("")))
  if (!documented.includes(client)) failures.push(`README.md does not have: ${client}`);
for (const failure of failures) console.log(failure);
console.log(`${rows.size} clients, ${failures.length} failures`);
process.exitCode = failures.length > 0 ? 1 : 0;
