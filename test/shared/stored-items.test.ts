import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { childAccounts, keysOf, orderIdsOf, readOrders, usersOf } from "../../infra/admin/cli/lookups.ts";
import { historyOf } from "../../infra/admin/history/history.ts";
import { orderReport } from "../../infra/admin/orders/report.ts";
import { sweepOrphanFiles } from "../../shared/attachments/sweep.ts";
import type { Item } from "../../shared/table/expressions.ts";
import { transact } from "../../shared/table/write.ts";
import { form, pageOf } from "../support/fixtures/attachments.ts";
import { call, invalidParametersOf } from "../support/requests/client.ts";
import { captureLogs } from "../support/servers/captured-logs.ts";
import { startOnNewTable } from "../support/servers/own-table.ts";

/** Items as version 1.0.0 stores them. Never change them. For a new shape, add items. */
const items = z
  .array(z.looseObject({ pk: z.string(), sk: z.string() }))
  .parse(JSON.parse(readFileSync(new URL("stored-items.json", import.meta.url), "utf8")));

const put = (...all: typeof items) =>
  transact(Object.fromEntries(all.map((item, index) => [String(index), { put: item }])));

const key = `apik_${"A".repeat(43)}`;
const id = (name: string) => `01J${name.padStart(23, "0")}`;
const request = `/api/v1/requests/${id("Q1")}/attachments`;
const order = `/api/v1/orders/${id("R1")}/attachments`;
const get = (path: string) => call("GET", path, { key });

/** Stored properties that callers do not get. */
const internalProperties = [
  ...["pk", "sk", "version", "account", "ancestors"],
  ...["bytes", "sha256", "content_type", "detected_type", "encrypted"],
];
const visible = (kind: RegExp) =>
  items
    .filter(({ pk, sk }) => kind.test(`${pk} ${sk}`))
    .map((item) => ({
      data: Object.fromEntries(Object.entries(item).filter(([name]) => !internalProperties.includes(name))),
    }));

beforeAll(async () => {
  await startOnNewTable();
  await put(...items);
});

describe("an item of a released version", () => {
  it.each([
    ["the attachments of a request", request, /^REQUEST#\w+ ATTACHMENT#/],
    ["the attachments of an order", order, /^ORDER#\w+ ATTACHMENT#/],
    ["the switches of an account", "/api/v1/switches", /^SWITCH#\w+ SWITCH$/],
  ])("is listed and shown as it was stored: %s", async (_, path, kind) => {
    const expected = visible(kind);
    expect(expected.length).toBeGreaterThan(0);
    expect((await get(path)).body).toMatchObject({ data: { items: expected } });
    for (const { data } of expected) expect((await get(`${path}/${data.id}`)).body).toMatchObject({ data });
  });

  it("is included in the total of switches", async () => {
    expect((await get("/api/v1/switches")).body).toMatchObject({ data: { page_info: { total: 2 } } });
  });

  it("is read by the report of a checkout: runs, receipts, seals", async () => {
    expect(await orderReport(id("R1"))).toMatchObject({
      checkout: {
        run: "run-1",
        status: "FAILED",
        reason: "The carrier refused.",
        waits: 0,
        next_try_at: null,
      },
      seal: { run: "run-1", version: 1 },
      attachments: [{ id: id("T1") }],
      requests: [
        {
          id: id("Q1"),
          attachments: [
            { id: id("T2"), receipt: { state: "forwarded", status: 201, attempts: 1, last_answer: null } },
            { id: id("T3"), receipt: { state: "pending", attempts: 2, last_answer: "503" } },
            { id: id("T1"), receipt: { state: "pending", attempts: 2, last_answer: null } },
          ],
        },
      ],
    });
    for (const name of ["R2", "R3"])
      expect(await orderReport(id(name))).toMatchObject({ checkout: { status: "SUCCEEDED" } });
  });

  it("is listed by its account, and has its history", async () => {
    const account = id("A2");
    const listed = await Promise.all([
      usersOf(account),
      keysOf(account),
      orderIdsOf(account).then(readOrders),
      childAccounts(id("A1")),
    ]);
    expect(listed.map((list) => list.map((one) => one.id))).toEqual([
      [id("V1")],
      [id("K1")],
      [id("R1"), id("R2"), id("R3")],
      [account],
    ]);
    await put({ pk: `REQUEST#${id("Q1")}`, sk: `EVENT#${id("Z")}`, id: id("Z"), type: "unreadable" });
    const logs = captureLogs();
    const events = await Array.fromAsync(historyOf({ type: "request", id: id("Q1") }));
    expect(logs.lines()).toMatchObject([{ message: "unreadable item" }]);
    expect(events.map(({ type, actor }) => `${type} ${actor.type}`)).toEqual([
      "request_attachment.updated api_key",
      "request_attachment.forwarded checkout",
    ]);
  });

  it("still reserves its Idempotency-Key and its reference_id", async () => {
    const headers = { "idempotency-key": "used-before" };
    const json = { type: "switch", data: { name: "Another" } };
    const reused = await call("POST", "/api/v1/switches", { key, headers, json });
    expect(invalidParametersOf(reused)).toEqual(["header /Idempotency-Key constraint.unique"]);
    const body = form({ "data[reference_id]": "6f1c1c9e-30a5-4d7f-9c7e-4f6f0f1f2a3b" });
    const taken = await call("POST", request, { key, body });
    expect(invalidParametersOf(taken)).toEqual(["body /data/reference_id constraint.unique"]);
  });

  it("can be changed and deleted", async () => {
    for (const [path, type] of [
      [`${request}/${id("T2")}`, "request_attachment"],
      [`/api/v1/switches/${id("S1")}`, "switch"],
    ] as const) {
      const changed = await call("PATCH", path, { key, json: { type, data: { name: "Renamed" } } });
      expect([changed.status, changed.headers.get("etag")]).toEqual([200, '"2"']);
      expect((await call("DELETE", path, { key })).status).toBe(200);
    }
    expect((await call("DELETE", `${request}/${id("T4")}`, { key })).status).toBe(200);
  });

  it("lets the sweep resume where it stopped", async () => {
    expect(await sweepOrphanFiles({ now: new Date("2026-01-03T00:00:00.000Z") })).toMatchObject({ finished: true });
  });

  it("exists for every kind of key", async () => {
    const source = readFileSync(new URL("../../shared/table/keys.ts", import.meta.url), "utf8");
    const kinds = [...source.matchAll(/sk: [`"]([A-Z_#]+?)#?(?:\$|[`"])|ownPartition\([`"]([A-Z_]+)/g)];
    const names = new Set(kinds.map(([, sk, ownPartition]) => sk ?? ownPartition ?? ""));
    const stored = items.map(({ pk, sk }) => `${pk} ${sk}`).join("\n");
    expect(names.size).toBeGreaterThan(12);
    const missing = [...names].filter((name) => !stored.includes(name));
    expect(missing, "add an item of each of these kinds to stored-items.json").toEqual([]);
  });
});

it("an item that breaks an input rule is read, since rules may have become stricter", async () => {
  const [first] = items.filter(({ sk }) => sk === "SWITCH");
  const unusual = {
    ...first,
    id: id("S7"),
    name: `${"long ".repeat(60)}`,
    sms_endpoints: Array(11).fill("x".repeat(3_000)),
  };
  const pk = `SWITCH#${id("S7")}`;
  await put({ ...unusual, pk, sk: "SWITCH" }, { ...unusual, pk, sk: "OWNER" });
  const { status, body } = await get(`/api/v1/switches/${id("S7")}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ data: { name: unusual.name, sms_endpoints: unusual.sms_endpoints } });
});

describe("an item that cannot be read", () => {
  const parent = { pk: `REQUEST#${id("Q9")}` };
  const path = `/api/v1/requests/${id("Q9")}/attachments`;
  const all = ["E1", "E2", "E3", "E4", "E5"].map(id);
  const broken = [id("E1"), id("E3"), id("E5")];
  const [readable] = items.filter(({ sk }) => sk.startsWith("ATTACHMENT#"));
  const [requestItem] = items.filter(({ pk, sk }) => pk === sk && pk.startsWith("REQUEST#"));

  const getWithErrors = async (path: string) => {
    const logs = captureLogs();
    const response = await get(path).finally(logs.stop);
    const lines: readonly Item[] = logs.written.map((line) => JSON.parse(line));
    return { ...response, errors: lines.filter(({ level }) => level === "ERROR") };
  };

  const messageFor = (attachment: string) =>
    `The item ${parent.pk} ATTACHMENT#${attachment} cannot be read: name invalid_type`;

  beforeAll(async () => {
    const attachments = all.map((one) => ({
      ...{ ...readable, ...parent, id: one, sk: `ATTACHMENT#${one}` },
      name: broken.includes(one) ? 5 : "LOA",
    }));
    await put({ ...requestItem, ...parent, sk: parent.pk, id: id("Q9"), attachment_count: 5 }, ...attachments);
  });

  it("returns 500 when it is shown, and the log has its key and none of its values", async () => {
    const { status, errors } = await getWithErrors(`${path}/${broken[0]}`);
    expect([status, errors]).toEqual([500, [expect.objectContaining({ message: "request", status: 500 })]]);
    expect(errors).toMatchObject([{ error: { message: messageFor(broken[0] ?? "") } }]);
  });

  it("is left out of its list, and the log has its key", async () => {
    const { status, body, errors } = await getWithErrors(path);
    expect([status, errors.length]).toEqual([200, 3]);
    expect(errors).toMatchObject(
      broken.map((one) => ({ message: "unreadable item", Defects: 1, error: { message: messageFor(one) } })),
    );
    expect(body).toMatchObject({ data: { items: [{ data: { id: all[1] } }, { data: { id: all[3] } }] } });
  });

  it.each([
    ["first", "after", 1],
    ["first", "after", 2],
    ["last", "before", 1],
    ["last", "before", 2],
  ] as const)("is skipped when a list is read with %s and %s, %i at a time", async (size, cursor, count) => {
    const seen: string[] = [];
    let next: string | null = "";
    for (let pages = 0; next !== null; pages += 1) {
      expect(pages).toBeLessThan(6);
      const page = pageOf(await get(`${path}?${size}=${count}${next && `&${cursor}=${next}`}`));
      seen.push(...page.ids);
      next = page[cursor];
    }
    expect(seen.toSorted()).toEqual([all[1], all[3]]);
  });

  it("does not break a list of switches", async () => {
    const [one] = items.filter(({ sk }) => sk === "SWITCH");
    const entry = { pk: `ACCOUNT#${id("A2")}`, sk: `SWITCH#${id("S9")}`, id: id("S9") };
    const damaged = { ...one, pk: `SWITCH#${id("S9")}`, sk: "SWITCH", id: id("S9"), sms_protocol: "PIGEON" };
    await put(damaged, { ...damaged, sk: "OWNER" }, entry);
    const { status, body, errors } = await getWithErrors("/api/v1/switches");
    expect(status).toBe(200);
    expect(body).toMatchObject({ data: { items: [{ data: { id: id("S2") } }] } });
    expect(errors).toMatchObject([
      { error: { message: `The item SWITCH#${id("S9")} SWITCH cannot be read: sms_protocol invalid_value` } },
    ]);
    expect((await get(`/api/v1/switches/${id("S9")}`)).status).toBe(500);
  });
});
