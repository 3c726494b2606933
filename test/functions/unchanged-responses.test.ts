import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { attachmentOf } from "../support/fixtures/attachments.ts";
import { switchesPath, switchOf } from "../support/fixtures/switches.ts";
import { parentTypes, type Tenants, tenants } from "../support/fixtures/tenants.ts";
import { call, type ReceivedResponse } from "../support/requests/client.ts";

/**
 * Compares responses with those recorded before `include`, `reference_id`, `If-None-Match` and the detected file types
 * existed: a caller who uses none of them gets the same bytes as before. `RECORD=1` writes the recording again.
 */

const recording = join(import.meta.dirname, "../support/fixtures/recorded-responses.json");

type Recorded = { readonly request: string; readonly status: number; readonly headers: object; readonly text: string };

/** Replaces ids, times and cursors, which differ from run to run. Ids are numbered as they first occur. */
const normalizer = () => {
  const ids = new Map<string, string>();
  const idName = (id: string) => {
    const known = ids.get(id) ?? `<id ${ids.size + 1}>`;
    ids.set(id, known);
    return known;
  };
  return (text: string) =>
    text
      .replace(/\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b/g, idName)
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
      .replace(/"(after|before)":"[\w-]+"/g, '"$1":"<cursor>"');
};

/** Headers that differ from one response or gateway to the next. */
const variableHeaders = ["x-request-id", "date", "content-length", "connection", "keep-alive"];

let t: Tenants;
const recorded: Recorded[] = [];
const normalized = normalizer();

const record = async (
  method: string,
  path: string,
  options: Parameters<typeof call>[2] = {},
): Promise<ReceivedResponse> => {
  const response = await call(method, path, { key: t.key("acme"), ...options });
  const stableHeaders = [...response.headers].filter(([name]) => !variableHeaders.includes(name));
  recorded.push({
    request: `${method} ${normalized(path)}`,
    status: response.status,
    headers: Object.fromEntries(stableHeaders),
    text: normalized(response.text),
  });
  return response;
};

const upload = (path: string, data: Readonly<Record<string, string>>) => {
  const body = new FormData();
  for (const [name, value] of Object.entries(data)) body.append(`data[${name}]`, value);
  body.append("data[file]", new File(["%PDF-1.7 signed"], "loa.pdf", { type: "application/pdf" }));
  return record("POST", path, { body });
};

const recordAttachments = async (kind: (typeof parentTypes)[number]) => {
  const path = t.attachments(kind, "acme");
  const reference_id = "7B3E4C1A-5D2F-4E8A-9C61-0F2D8A4B6E13";
  const { id } = attachmentOf(await upload(path, { name: "LOA", file_hint: "LOA", reference_id, notes: "signed" }));
  attachmentOf(await upload(path, { name: "Bill" }));
  await upload(path, { file_hint: "NONE" });
  for (const query of ["", "?first=1", "?last=1", "?first=0", "?after=x"]) await record("GET", path + query);
  await record("GET", `${path}/${id}`);
  await record("GET", `${path}/${id}?unknown=1`);
  await record("GET", `${path}/${id}`, { headers: { "if-match": '"7"' } });
  const json = (data: unknown) => ({ json: { type: `${kind}_attachment`, data } });
  await record("PATCH", `${path}/${id}`, json({ notes: null }));
  await record("PATCH", `${path}/${id}`, { ...json({ notes: null }), headers: { "if-match": '"1"' } });
  await record("DELETE", `${path}/${id}`);
  await record("GET", `${path}/${id}`);
};

const recordSwitches = async () => {
  const create = (path: string, name: string) => record("POST", path, { json: { type: "switch", data: { name } } });
  const { id } = switchOf(await create(switchesPath, "Inbound"));
  await create(`/api/v1/accounts/${t.account("east")}/switches`, "Inbound");
  await create(switchesPath, "");
  for (const query of ["", "?first=1", "?last=1", "?first=x"]) await record("GET", switchesPath + query);
  await record("GET", `${switchesPath}/${id}`);
  await record("PATCH", `${switchesPath}/${id}`, { json: { type: "switch", data: { sms_identity: "me" } } });
  await record("DELETE", `${switchesPath}/${id}`);
  await record("GET", `${switchesPath}/${id}`);
};

beforeAll(async () => {
  t = await tenants();
  for (const kind of parentTypes) await recordAttachments(kind);
  await recordSwitches();
  if (process.env.RECORD) writeFileSync(recording, `${JSON.stringify(recorded, null, 2)}\n`);
});

describe("a request without the parameters that were added later", () => {
  it("returns the same bytes as before", () => {
    const before: Recorded[] = JSON.parse(readFileSync(recording, "utf8"));
    expect(before.length).toBeGreaterThan(30);
    expect(JSON.parse(JSON.stringify(recorded))).toEqual(before);
  });
});
