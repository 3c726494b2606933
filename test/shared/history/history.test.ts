import { STSClient } from "@aws-sdk/client-sts";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod/mini";
import { operatorOrigin } from "../../../infra/admin/cli/operator.ts";
import { Event } from "../../../shared/history/event.ts";
import { routes } from "../../../shared/routes.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { collections, keys } from "../../../shared/table/keys.ts";
import { queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { apply } from "../../../shared/tenants/apply.ts";
import { atOnce } from "../../support/fault-proxy/table-proxy.ts";
import { operator } from "../../support/fixtures/apply.ts";
import { form, upload } from "../../support/fixtures/attachments.ts";
import { newSwitch, patch } from "../../support/fixtures/switches.ts";
import { customer } from "../../support/fixtures/tenants.ts";
import { newContent } from "../../support/fixtures/upload-content.ts";
import { completePath, sentUpload } from "../../support/fixtures/uploads.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { call, fetchFromService, type ReceivedResponse, send } from "../../support/requests/client.ts";
import { requestPerEndpoint } from "../../support/requests/request-per-endpoint.ts";
import { captureLogs } from "../../support/servers/captured-logs.ts";

const historyOf = async (type: string, id: string) => (await adminJson(["history", type, id])).events;

const requestId = ({ headers }: ReceivedResponse) => headers.get("x-request-id");

/** An account with an order and a request in its sub-account, and a key of the account. */
const newCustomer = async () => {
  const made = await customer({ levels: 2 });
  const [request = ""] = made.requests;
  const [user] = await adminJson(["user", "list", "--account", made.accounts[0] ?? ""]);
  const [key] = await adminJson(["key", "list", "--account", made.accounts[1] ?? ""]);
  const path = `/api/v1/requests/${request}/attachments`;
  return { ...made, request, path, owner: made.accounts[1], actor: { type: "api_key", id: key.id, user: user.id } };
};

describe("the history of a request", () => {
  it("has each change of its attachments once, and none for what changed nothing", async () => {
    const { key, request, path, owner: account, actor } = await newCustomer();
    const type = "request_attachment";
    const headers = { "idempotency-key": "same" };
    const upload = await sentUpload(path, key, newContent());
    const json = { type, data: { name: "Scan" } };
    const created = await call("POST", completePath(path, upload.id), { key, headers, json });
    expect((await call("POST", completePath(path, upload.id), { key, headers, json })).status).toBe(201);
    const change = (data: object, more = {}) =>
      call("PATCH", `${path}/${upload.id}`, { key, json: { type, data }, headers: more });
    const updated = await change({ name: "Bills", notes: "May", file_hint: "DEFAULT" });
    expect((await change({ name: "Bills" })).status).toBe(200);
    expect((await change({ name: "Lost" }, { "if-match": '"1"' })).status).toBe(412);
    const deleted = await call("DELETE", `${path}/${upload.id}`, { key });
    expect((await call("DELETE", `${path}/${upload.id}`, { key })).status).toBe(404);

    const event = (action: string, version: number, response: ReceivedResponse, changed: string[] | null = null) => ({
      id: expect.stringMatching(/^[0-9A-Z]{26}$/),
      type: `${type}.${action}`,
      at: expect.any(String),
      account,
      actor,
      resource: { type, id: upload.id, version },
      parent: { type: "request", id: request },
      changed,
      request_id: requestId(response),
    });
    expect((await historyOf("request", request)).slice(1)).toEqual([
      event("created", 1, created),
      event("updated", 2, updated, ["name", "notes"]),
      { ...event("deleted", 2, deleted), file: { bytes: upload.bytes, sha256: upload.sha256 } },
    ]);
  });
});

describe("the history of a switch", () => {
  it("remains after it is deleted, and names who changed what", async () => {
    const { key, owner, actor } = await newCustomer();
    const { id } = await newSwitch(key, { name: "Harborline", sms_secret: "planted" });
    await patch(key, id, { name: "Harborline 2", sms_secret: "other" });
    await patch(key, id, { mms_identity: "ops" });
    const { stdout: before } = await admin(["history", "switch", id]);
    expect(before).toMatch(/switch\.updated +\w+ +Harborline 2 +level1: key \w+, user \w+ +name, sms_secret\n/);
    await call("DELETE", `/api/v1/switches/${id}`, { key });
    const events = await historyOf("switch", id);
    expect(events.map(({ type, resource, changed }: Record<string, unknown>) => ({ type, resource, changed }))).toEqual(
      [
        ["created", 1, null],
        ["updated", 2, ["name", "sms_secret"]],
        ["updated", 3, ["mms_identity"]],
        ["deleted", 3, null],
      ].map(([action, version, changed]) => ({
        type: `switch.${action}`,
        resource: { type: "switch", id, version },
        changed,
      })),
    );
    for (const event of events) expect(event).toMatchObject({ account: owner, actor, parent: null });
    expect(JSON.stringify(events)).not.toMatch(/planted|ops/);
    // What is published has no name.
    expect(JSON.stringify(events.map((event: unknown) => z.parse(Event, event)))).not.toContain("Harborline");
    // Each line has the names of then, even after the account of the key was renamed.
    await adminJson(["account", "rename", owner ?? "", "Today"]);
    const { stdout } = await admin(["history", "switch", id]);
    expect(stdout.match(/switch\.(created|updated|deleted) +\w+ +Harborline( 2)? +level1: key/g)).toHaveLength(4);
    expect(stdout).toMatch(/switch\.created +\w+ +Harborline +level1: key/);
  });
});

describe("the history of an account, a user and an API key", () => {
  it("has the values before and after, and for whom an operator made the change", async () => {
    const behalf = ["--on-behalf-of", "Anna, ticket 7"];
    const { id: account } = await adminJson(["account", "create", "--name", "Acme", ...behalf]);
    const { id: user } = await adminJson(["user", "create", "--account", account]);
    const { id: key } = await adminJson(["key", "issue", "--account", account, "--user", user, "--label", "A"]);
    await adminJson(["account", "rename", account, "Acme Ltd", ...behalf]);
    await adminJson(["account", "feature", account, "on"]);
    await adminJson(["user", "disable", user, ...behalf]);
    await adminJson(["user", "permissions", user, "--set", "a:b"]);
    const before = { label: "A", expires_at: null };
    const after = { label: null, expires_at: "2100-01-01T00:00:00.000Z" };
    for (const properties of [{ ...after, revoked: true }, before]) {
      const file = { on_behalf_of: " Anna ", keys: { k: { id: key, ...properties } } };
      await adminJson(["apply", "-"], JSON.stringify(file));
    }
    const told = async (type: string, id: string) =>
      (await historyOf(type, id)).map(({ changed, changes, actor }: z.infer<typeof Event>) => {
        if (changes) expect(changed).toEqual(expect.arrayContaining(Object.keys(changes)));
        return [changes, actor.on_behalf_of];
      });
    const [off, on] = [false, true].map((ordering_attachment_access) => ({ ordering_attachment_access }));
    expect(await told("account", account)).toEqual([
      [undefined, "Anna, ticket 7"],
      [{ name: { from: "Acme", to: "Acme Ltd" } }, "Anna, ticket 7"],
      [{ features: { from: off, to: on } }, undefined],
    ]);
    expect(await told("user", user)).toEqual([
      [undefined, undefined],
      [{ disabled: { from: false, to: true } }, "Anna, ticket 7"],
      [{ permissions: { from: [], to: ["a:b"] } }, undefined],
    ]);
    const change = (from: typeof before | typeof after, to: typeof from) => ({
      label: { from: from.label, to: to.label },
      expires_at: { from: from.expires_at, to: to.expires_at },
    });
    expect(await told("key", key)).toEqual([
      [undefined, undefined],
      [{ ...change(before, after), revoked: { from: false, to: true } }, "Anna"],
      [change(after, before), "Anna"],
    ]);
    expect((await admin(["history", "account", account])).stdout).toMatch(
      /account\.created +\w+ +Acme +operator local on behalf of Anna, ticket 7 +-\n.* Acme Ltd +operator local on behalf of Anna, ticket 7 +name: "Acme" -> "Acme Ltd"\n/,
    );
    expect((await admin(["history", "user", user])).stdout).toMatch(/ operator local +permissions: \+a:b\n/);
  });

  it("names the principal of an operator on AWS", async () => {
    vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", "").stubEnv("AWS_ENDPOINT_URL", "");
    onTestFinished(() => void vi.unstubAllEnvs());
    const id = "arn:aws:iam::111122223333:user/anna";
    vi.spyOn(STSClient.prototype, "send").mockImplementation(async () => ({ Arn: id }));
    expect((await operatorOrigin({})).actor).toEqual({ type: "operator", id });
  });

  it("refuses a text for whom that is blank or too long", async () => {
    for (const text of [" ", "x".repeat(256)]) {
      expect((await admin(["account", "create", "--name", "Acme", "--on-behalf-of", text])).code).toBe(2);
      const { code, stdout } = await admin(["apply", "-", "--json"], { input: JSON.stringify({ on_behalf_of: text }) });
      expect([code, JSON.parse(stdout).errors]).toMatchObject([1, [{ source: { pointer: "/on_behalf_of" } }]]);
    }
  });

  it("is short enough for ten events in a call of EventBridge, whatever permissions a user gets", async () => {
    const longest = (sign: string, count = 1_000) => Array.from({ length: count }, (_, n) => `${n}`.padEnd(255, sign));
    const [id, account] = [newId(), newId()];
    const set = (permissions: string[]) =>
      apply({ on_behalf_of: "💣".repeat(255), users: { u: { id, account, permissions } } }, operator());
    await apply({ accounts: { a: { id: account, name: "Acme" } } }, operator());
    await set(longest("x"));
    await set([...longest("x").slice(1), "added"]);
    await set(longest("y"));
    await set([]);
    const { events } = await adminJson(["history", "user", id]);
    const [, few, all, none] = z.array(Event).parse(events);
    for (const event of events) expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(25_600);
    expect(few?.changes?.permissions).toEqual({ from: [`${0}`.padEnd(255, "x")], to: ["added"], unchanged: 999 });
    // A permission has 255 characters, two quotes and a comma, and each list has room for 8,192 bytes.
    const counts = [all, none].map((event) => {
      const { from, to, ...rest } = event?.changes?.permissions ?? { from: [], to: [] };
      return { from: [from].flat().length, to: [to].flat().length, ...rest };
    });
    expect(counts).toEqual([
      { from: 31, to: 31, unchanged: 0, omitted: 1_938 },
      { from: 31, to: 0, unchanged: 0, omitted: 969 },
    ]);
    expect((await admin(["history", "user", id])).stdout).toMatch(/and 1938 more/);
  });
});

it("the history of what another release has changed names an actor of an unknown type", async () => {
  const { key, owner: account = "" } = await newCustomer();
  const { id } = await newSwitch(key, { name: "Harborline" });
  const [created] = await historyOf("switch", id);
  const event = {
    ...created,
    id: newId(),
    type: "switch.moved",
    actor: { type: "robot", id: "r2", model: 7 },
    account,
  };
  await transact({ event: { put: { ...keys.event({ type: "switch", id }, event.id), ...event } } });
  expect(await historyOf("switch", id)).toEqual([created, event]);
  expect((await admin(["history", "switch", id])).stdout).toMatch(/switch\.moved +\w+ +Harborline +robot r2/);
});

describe("the history of what an endpoint changes", () => {
  const changing = routes.filter(({ method, document }) => method !== "GET" && document !== "upload");

  it.each(changing.map((route) => [route.name, route] as const))("has one event: %s", async (name, route) => {
    const { key, order, request, accounts } = await newCustomer();
    const place = { key, order, request, account: accounts.at(-1) ?? "" };
    const prepared = await requestPerEndpoint(fetchFromService, place)[name]?.();
    if (!prepared) throw new Error(`There is no request to ${name}.`);
    const response = await send(prepared);
    expect(response.status).toBe(route.status);
    const { id } = z.parse(z.object({ data: z.object({ id: z.string() }) }), response.body).data;
    const subjects = [
      { type: "order", id: order },
      { type: "request", id: request },
      { type: route.document, id },
    ];
    const events = await Promise.all(subjects.map((one) => Array.fromAsync(queryAll(collections.events(one)))));
    const own = events.flat().filter(({ request_id }) => request_id === requestId(response));
    expect(
      own.map(({ type, resource }) => ({ type, resource })),
      "add recordOf(…) to the transaction",
    ).toEqual([{ type: expect.stringMatching(`^${route.document}\\.`), resource: expect.objectContaining({ id }) }]);
  });
});

it("versions and their events go on in time, even if the clock goes back", async () => {
  const { key } = await newCustomer();
  const { id } = await newSwitch(key, { name: "Harborline" });
  const latest = Date.now() + 60_000;
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const changed: ReceivedResponse[] = [];
  for (const method of ["PATCH", "PATCH", "DELETE"]) {
    vi.setSystemTime(latest - 1_000 * changed.length);
    const json = { type: "switch", data: { name: `${changed.length}` } };
    changed.push(await call(method, `/api/v1/switches/${id}`, { key, json }));
  }
  const [first, second, third] = [0, 1, 2].map((ms) => new Date(latest + ms).toISOString());
  const times = [first, second, second].map((updated_at) => ({ data: { updated_at } }));
  expect(changed.map(({ body }) => body)).toMatchObject(times);
  expect((await historyOf("switch", id)).slice(-3)).toMatchObject([
    { at: first, resource: { id, version: 2 } },
    { at: second, resource: { id, version: 3 } },
    { at: third, resource: { id, version: 3 } },
  ]);
});

it.each([
  ["account", "accounts", (n: number) => ({ name: `Acme ${n}` })],
  ["user", "users", (n: number) => ({ permissions: [`a:${n}`] })],
  ["key", "keys", (n: number) => (n % 2 ? { label: `Portal ${n}` } : { expires_at: `203${n}-01-01T00:00:00.000Z` })],
])(
  "the events of one %s are in the order of its versions, however many files change it at once",
  async (type, section, changeOf) => {
    const customer = { accounts: { one: { name: "Acme" } }, users: { one: { account: "one" } } };
    const { accounts, users, keys } = await apply(
      { ...customer, keys: { one: { account: "one", user: "one" } } },
      operator(),
    );
    const id = { accounts, users, keys }[section]?.one?.id ?? "";
    const earlier = (n: number) => operator(new Date(Date.now() - n * 1_000));
    await atOnce(6, (n) => apply({ [section]: { one: { id, ...changeOf(n) } } }, earlier(n)));
    const events: z.infer<typeof Event>[] = await historyOf(type, id);
    expect(events.map(({ resource }) => resource.version)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const times = events.map(({ at }) => at);
    expect(times).toEqual([...new Set(times)].sort());
    const values = new Map<string, unknown>();
    for (const [name, { from, to }] of events.flatMap(({ changes = {} }) => Object.entries(changes))) {
      if (values.has(name)) expect(from, name).toEqual(values.get(name));
      values.set(name, to);
    }
  },
);

it.each(["order", "request", "switch", "account", "user"])(
  "the history of an id that nothing ever had is an error: %s",
  async (type) => {
    const { code, stdout, stderr } = await admin(["history", type, "01J00000000000000000000000"]);
    const expected = `There is no ${type} 01J00000000000000000000000: it has no events, either.`;
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(expected)]);
  },
);

it("the log line of a request with a revoked key names the key, which may have leaked", async () => {
  const { key, path, owner, actor } = await newCustomer();
  await adminJson(["key", "revoke", actor.id, "--yes"]);
  const logs = captureLogs();
  expect((await call("GET", path, { key })).status).toBe(401);
  logs.stop();
  const lines = logs.written.flatMap((line) => (line.includes('"request"') ? [JSON.parse(line)] : []));
  expect(lines).toMatchObject([{ status: 401, key_id: actor.id, account_id: owner }]);
});

it("the log line of a request names the caller, the owner, the ids and the bytes", async () => {
  const { key, request, path, owner, actor } = await newCustomer();
  const logs = captureLogs();
  const headers = { "idempotency-key": "logged" };
  const { id } = await upload(path, key);
  await call("POST", path, { key, headers, body: form() });
  await call("POST", path, { key, headers, body: form() });
  await call("DELETE", `${path}/${id}`, { key });
  await call("GET", `/api/v1/accounts/${owner}/switches`, { key });
  logs.stop();
  const lines = logs.written.flatMap((line) => (line.includes('"request"') ? [JSON.parse(line)] : []));
  const own = lines.filter(({ key_id }) => key_id === actor.id);
  const caller = { account_id: owner, user_id: actor.user, owner_account_id: owner };
  expect(own).toMatchObject([
    { ...caller, path: { request_id: request }, created_id: id, bytes: 15 },
    { ...caller, path: { request_id: request }, created_id: expect.any(String), bytes: 15 },
    caller,
    { ...caller, path: { request_id: request, attachment_id: id }, bytes: 15 },
    { ...caller, path: { account_id: owner } },
  ]);
  expect([own[2].created_id, own[2].bytes]).toEqual([undefined, undefined]);
});
