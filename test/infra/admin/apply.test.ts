import { randomBytes, randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import schema from "../../../infra/admin/apply.schema.json" with { type: "json" };
import { historyOf } from "../../../infra/admin/history/history.ts";
import { ApiError } from "../../../shared/errors.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get, scan } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { entrySchemas } from "../../../shared/tenants/apply-schema.ts";
import { beforeTableCall } from "../../support/fault-proxy/table-proxy.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { sha256Of } from "../../support/fixtures/upload-content.ts";
import { failure } from "../../support/processes/failure.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { call } from "../../support/requests/client.ts";

const ulid = expect.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
const created = { id: ulid, status: "created" };
const unchanged = { id: ulid, status: "unchanged" };

const document = {
  accounts: {
    acme: { name: "Acme", features: { ordering_attachment_access: true } },
    east: { name: "East", parent: "acme", features: { ordering_attachment_access: false } },
  },
  users: { ops: { account: "acme", permissions: ["ordering_request_attachments:*"], disabled: false } },
  keys: { ops: { account: "acme", user: "ops", expires_at: "2100-01-01T00:00:00Z", revoked: false } },
  orders: { o1: { account: "acme", state: "CART" } },
  requests: { r1: { order: "o1", account: "east", type: "ADD_MESSAGING_NUMBERS" } },
};

const faultsOf = async (doc: unknown) => {
  const error = await apply(doc).catch((caught: unknown) => caught);
  if (!(error instanceof ApiError)) throw new Error("it was applied");
  return error.body.errors.map(({ source, detail }) => `${source?.pointer}: ${detail}`);
};

describe("admin apply", () => {
  it("creates the entries of the file and prints only JSON", async () => {
    const file = join(newFolder(), "tenants.json");
    await writeFile(file, JSON.stringify(document));
    const { stdout } = await admin(["apply", file]);
    const response = JSON.parse(stdout);
    expect(response).toEqual({
      accounts: { acme: created, east: created },
      users: { ops: created },
      keys: { ops: { ...created, key: expect.stringMatching(/^apik_[A-Za-z0-9_-]{43}$/) } },
      orders: { o1: { ...created, state: "CART", last_run: null } },
      requests: { r1: created },
    });
    const path = `/api/v1/requests/${response.requests.r1.id}/attachments`;
    expect((await call("GET", path, { key: response.keys.ops.key })).body).toMatchObject({
      errors: [
        { code: "access_denied.ordering_attachment_access", params: { account: { id: response.accounts.east.id } } },
      ],
    });
  });

  it("reads standard input, and accepts ids of existing items as references", async () => {
    const first = await adminJson(["apply", "-"], JSON.stringify(document));
    const more = {
      accounts: { south: { name: "South", parent: first.accounts.east.id.toLowerCase() } },
      users: { two: { account: first.accounts.acme.id, permissions: [] } },
      keys: { two: { account: "south", user: first.users.ops.id }, none: { account: "south", user: null } },
      orders: { o2: { account: "south" } },
      requests: { r2: { order: first.orders.o1.id, type: "x" }, r3: { order: "o2", type: "y" } },
    };
    const second = await adminJson(["apply", "-"], JSON.stringify(more));
    expect(await get(keys.account(second.accounts.south.id))).toMatchObject({
      ancestors: [first.accounts.acme.id, first.accounts.east.id],
    });
    expect(await get(keys.request(second.requests.r2.id))).toMatchObject({ account: first.accounts.acme.id });
    expect(await get(keys.request(second.requests.r3.id))).toMatchObject({ account: second.accounts.south.id });
  });

  it("names what is wrong with which entry", async () => {
    const deep = Array.from({ length: 9 }, (_, n) => [`l${n}`, { name: "L", ...(n > 0 && { parent: `l${n - 1}` }) }]);
    const file = {
      accounts: { a: { name: "A", parent: "b" }, b: { name: "B", parent: "a" }, ...Object.fromEntries(deep) },
      orders: { o: { account: "l0" } },
      requests: { r: { order: "o", account: "b", type: "t" } },
    };
    expect(await faultsOf(file)).toEqual([
      "/accounts/a/parent: makes the account its own ancestor",
      "/accounts/l8/parent: makes a tree of more than 8 levels",
      "/requests/r/account: must be the account of the order or one below it",
    ]);
    const chain = Array.from({ length: 20_000 }, (_, n) => [`c${n}`, { name: "C", parent: `c${n + 1}` }]);
    const levels = /^\/accounts\/c\d+\/parent: makes a tree of more than 8 levels$/;
    expect(await faultsOf({ accounts: Object.fromEntries(chain) })).toContainEqual(expect.stringMatching(levels));
    expect(await faultsOf({ accounts: { a: { nmae: "A" } }, orders: { o: { account: "a", state: "LOST" } } })).toEqual([
      "/accounts/a: has unknown properties: nmae",
      "/orders/o/state: must be one of CART, CHECKED_OUT",
      "/accounts/a/name: can't be blank",
    ]);
  });

  it("writes nothing if the file is invalid, exits with 1 and prints the place on stderr", async () => {
    const name = `Never ${randomUUID()}`;
    const invalid = { ...document, accounts: { acme: { name } }, users: { ops: { account: "nope" } }, requests: {} };
    expect(await admin(["apply", "-"], { input: JSON.stringify(invalid) })).toEqual(
      failure(1, "/users/ops/account: there is no account nope"),
    );
    expect((await admin(["account", "list"])).stdout).not.toContain(name);
    expect(await admin(["apply", "-"], { input: "{" })).toEqual(failure(1, /^Standard input is not JSON: /m));
  });

  it("refuses a file that is not UTF-8, and accepts a byte order mark", async () => {
    const file = join(newFolder(), "tenants.json");
    const json = JSON.stringify({ accounts: { one: { name: "Müller" } } });
    await writeFile(file, json, "latin1");
    expect(await admin(["apply", file])).toEqual(failure(1, `${file} is not UTF-8: convert it.`));
    await writeFile(file, `\ufeff${json}`);
    const { accounts } = await adminJson(["apply", file]);
    expect(await get(keys.account(accounts.one.id))).toMatchObject({ name: "Müller" });
  });

  it("refuses a name given twice, at any depth, together with all other errors, and writes nothing", async () => {
    const name = `Never ${randomUUID()}`;
    const input = `{"accounts": {"a": {"name": "First"}, "a": {"name": "${name}", "n\\u0061me": "", "features": {"x": 1, "x": 1}}},
      "users": {"u": {"account": "nope"}}, "dry_run": true, "dry_run": false}`;
    const places = ["/accounts/a", "/accounts/a/name", "/accounts/a/features/x", "/dry_run"];
    const { code, stderr } = await admin(["apply", "-"], { input });
    expect([code, stderr.trim().split("\n").slice(1)]).toEqual([
      1,
      [
        ...places.map((place) => `${place}: must be given only once`),
        "/accounts/a/name: can't be blank",
        "/accounts/a/features: has unknown properties: x; allowed are ordering_attachment_access",
        "/users/u/account: there is no account nope",
      ],
    ]);
    expect((await admin(["account", "list"])).stdout).not.toContain(name);
  });

  it("accepts any name, even __proto__ and constructor", async () => {
    const input =
      '{"accounts": {"__proto__": {"name": "P"}, "constructor": {"name": "C", "parent": "__proto__"}}, "orders": {"toString": {"account": "__proto__"}}}';
    const response = await adminJson(["apply", "-"], input);
    expect(Object.keys(response.accounts)).toEqual(["__proto__", "constructor"]);
    const [proto] = Object.values<{ id: string }>(response.accounts);
    expect(await get(keys.account(response.accounts.constructor.id))).toMatchObject({ ancestors: [proto?.id] });
    expect(await get(keys.order(response.orders.toString.id))).toMatchObject({ account: proto?.id });
    expect(await faultsOf(JSON.parse('{"orders": {"__proto__": {"account": "constructor"}}}'))).toEqual([
      "/orders/__proto__/account: there is no account constructor",
    ]);
  });
});

/** A file whose entries have ids. References are by name or by these ids. */
const withIds = () => {
  const [acme, east, ops, key, order, request] = Array.from({ length: 6 }, () => newId());
  const secret = `apik_${randomBytes(32).toString("base64url")}`;
  return {
    accounts: { acme: { id: acme, name: "Acme" }, east: { id: east, name: "East", parent: acme } },
    users: { ops: { id: ops, account: "acme", permissions: ["messaging_switches:*", "ordering_carts:show"] } },
    keys: {
      generated: { id: key, account: "acme", user: "ops", replaced_by: "brought" },
      brought: { account: "east", user: ops, sha256: sha256Of(secret) },
    },
    orders: { o1: { id: order?.toLowerCase(), account: "acme" } },
    requests: { r1: { id: request, order, type: "PORT_IN" } },
    secret,
  };
};

describe("admin apply with ids in the file", () => {
  const allItems = async () => {
    const items = await Array.fromAsync(scan());
    expect(items.length).toBeGreaterThan(6);
    return items;
  };

  it("changes nothing if the file is applied again", async () => {
    const { secret, ...file } = withIds();
    const first = await admin(["apply", "-"], { input: JSON.stringify(file) });
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining("7 created, 0 changed, 0 unchanged.")]);
    const applied = JSON.parse(first.stdout);
    expect(applied).toMatchObject({
      accounts: { acme: { id: file.accounts.acme.id } },
      keys: { generated: { id: file.keys.generated.id, key: expect.stringMatching(/^apik_/) }, brought: created },
      requests: { r1: { id: file.requests.r1.id } },
    });
    expect(applied.keys.brought).not.toHaveProperty("key");
    const request = { type: "request", id: file.requests.r1.id ?? "" };
    const parent = { type: "order", id: file.requests.r1.order };
    expect(await Array.fromAsync(historyOf(request))).toMatchObject([{ account: file.accounts.acme.id, parent }]);
    const before = await allItems();
    const second = await admin(["apply", "-"], { input: JSON.stringify(file) });
    expect([second.code, second.stderr]).toEqual([0, expect.stringContaining("0 created, 0 changed, 7 unchanged.")]);
    expect(JSON.parse(second.stdout)).toEqual({
      accounts: { acme: unchanged, east: { id: applied.accounts.east.id, status: "unchanged" } },
      users: { ops: unchanged },
      keys: { generated: { id: applied.keys.generated.id, status: "unchanged" }, brought: unchanged },
      orders: { o1: { ...unchanged, state: "CART", last_run: null } },
      requests: { r1: unchanged },
    });
    expect(await allItems()).toEqual(before);
    expect((await call("GET", "/api/v1/switches", { key: secret })).status).toBe(200);
    expect((await call("GET", "/api/v1/switches", { key: applied.keys.generated.key })).status).toBe(200);
  });

  it("changes what an existing entry may change, leaves what the file does not name, and says what changed", async () => {
    const { secret, ...file } = withIds();
    await apply(file);
    const [acme, ops] = [file.accounts.acme.id, file.users.ops.id];
    const changes = {
      accounts: { a: { id: acme, name: "Acme Ltd", features: { ordering_attachment_access: true } } },
      users: { u: { id: ops, permissions: ["ordering_carts:show", "messaging_switches:*"], disabled: true } },
      keys: { k: { sha256: file.keys.brought.sha256, expires_at: "2100-01-01T01:00:00+01:00", revoked: true } },
    };
    const before = await allItems();
    const byOption = await admin(["apply", "--dry-run", "-"], { input: JSON.stringify(changes) });
    const inFile = await admin(["apply", "-"], { input: JSON.stringify({ dry_run: true, ...changes }) });
    for (const { stderr } of [byOption, inFile])
      expect(stderr).toContain("\nDry run: 0 created, 3 changed, 0 unchanged.\n");
    const dry = JSON.parse(byOption.stdout);
    expect(JSON.parse(inFile.stdout)).toEqual(dry);
    expect(dry).toEqual({
      accounts: {
        a: {
          id: acme,
          status: "changed",
          changes: {
            name: { from: "Acme", to: "Acme Ltd" },
            features: { from: { ordering_attachment_access: false }, to: { ordering_attachment_access: true } },
          },
        },
      },
      users: { u: { id: ops, status: "changed", changes: { disabled: { from: false, to: true } } } },
      keys: {
        k: {
          id: ulid,
          status: "changed",
          changes: { expires_at: { from: null, to: "2100-01-01T00:00:00.000Z" }, revoked: { from: false, to: true } },
        },
      },
      orders: {},
      requests: {},
    });
    expect(await allItems()).toEqual(before);
    expect(await adminJson(["apply", "-"], JSON.stringify(changes))).toEqual(dry);
    expect(await get(keys.account(acme ?? ""))).toMatchObject({
      name: "Acme Ltd",
      features: { ordering_attachment_access: true },
    });
    expect((await call("GET", "/api/v1/switches", { key: secret })).status).toBe(401);
  });

  it("refuses to change what cannot change, and writes nothing", async () => {
    const { secret: _, ...file } = withIds();
    await apply(file);
    const before = await allItems();
    const { accounts, keys: apiKeys, orders, requests } = file;
    const [account, acme] = [accounts.east.id, `/account: can't be changed: it is "${accounts.acme.id}"`];
    expect(
      await faultsOf({
        accounts: { east: { id: accounts.east.id, parent: null }, new: { name: "Never created" } },
        users: { ops: { id: file.users.ops.id, account } },
        keys: { generated: { id: apiKeys.generated.id, account, user: null, sha256: "0".repeat(64) } },
        orders: { o1: { id: orders.o1.id, account, state: "CHECKED_OUT" }, new: { account } },
        requests: { r1: { id: requests.r1.id, order: "new", account, type: "OTHER" } },
      }),
    ).toEqual([
      `/accounts/east/parent: can't be changed: it is "${accounts.acme.id}". To move an account, export it, create another one below that parent, and apply its orders and requests there`,
      `/users/ops${acme}`,
      `/orders/o1${acme}`,
      '/orders/o1/state: can\'t be changed: it is "CART"',
      `/requests/r1/order: can't be changed: it is "${requests.r1.order}"`,
      `/requests/r1${acme}`,
      '/requests/r1/type: can\'t be changed: it is "PORT_IN"',
      `/keys/generated${acme}`,
      `/keys/generated/user: can't be changed: it is "${file.users.ops.id}"`,
      expect.stringMatching(/^\/keys\/generated\/sha256: can't be changed: it is "[0-9a-f]{64}"$/),
    ]);
    expect(await allItems()).toEqual(before);
  });

  const partly = expect.stringContaining("Only a part of the file is applied. Apply it again to complete it");
  it.each([
    ["on stderr", [], {}, partly],
    ["in its JSON", ["--json"], { errors: [{ detail: partly }] }, expect.any(String)],
  ])("prints what was written if a later transaction fails, and says so %s", async (_, options, errors, said) => {
    const account = newId();
    const orders = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`o${n}`, { id: newId(), account }]));
    const input = JSON.stringify({ accounts: { acme: { id: account, name: "Acme" } }, orders });
    // The second transaction fails, because the entry of its last order in the account's list exists.
    const taken = keys.accountOrder(account, orders.o59?.id ?? "");
    await transact({ taken: { put: { ...taken, id: "x" } } });
    const { code, stdout, stderr } = await admin(["apply", "-", ...options], { input });
    expect([code, stderr, JSON.parse(stdout)]).toMatchObject([1, said, { accounts: { acme: created }, ...errors }]);
    await transact({ taken: { delete: taken } });
    expect(await adminJson(["apply", "-"], input)).toMatchObject({ orders: { o0: unchanged, o59: created } });
  });

  /** Two transactions. Sends Ctrl-C when the first call of an operation begins. */
  const interruptedAt = async (operation: string) => {
    const orders = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`o${n}`, { account: "acme" }]));
    const input = JSON.stringify({ accounts: { acme: { id: newId(), name: "Acme" } }, orders });
    beforeTableCall(
      (call) => call.operation === operation,
      async () => process.listeners("SIGINT").at(-1)?.("SIGINT"),
    );
    return admin(["apply", "-"], { input });
  };

  it("ends between two transactions on Ctrl-C, and prints what was written", async () => {
    const { code, stdout, stderr } = await interruptedAt("TransactWriteItems");
    expect([code, stderr, JSON.parse(stdout)]).toMatchObject([1, partly, { accounts: { acme: created } }]);
    expect(Object.keys(JSON.parse(stdout).orders).length).toBeLessThan(60);
  });

  it("writes nothing after Ctrl-C before the first transaction", async () => {
    const before = await allItems();
    expect(await interruptedAt("GetItem")).toEqual(failure(1, "Nothing was changed.\n"));
    expect(await allItems()).toEqual(before);
  });

  it("creates each entry once if the file is applied several times concurrently", async () => {
    const { secret: _, ...file } = withIds();
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => apply(file)));
    expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
    const { accounts, keys: applied } = await apply(file);
    expect([accounts.acme?.id, applied.generated?.id]).toEqual([file.accounts.acme.id, file.keys.generated.id]);
    const listed: { id: string }[] = await adminJson(["key", "list", "--account", accounts.acme?.id ?? ""]);
    expect(listed.filter(({ id }) => id === file.keys.generated.id)).toHaveLength(1);
  });
});

it("the example in docs, which the help names, has every property, and is applied once", async () => {
  const path = "docs/examples/customer.json";
  const file = JSON.parse(await readFile(path, "utf8"));
  expect((await admin(["apply", "--help"])).stdout).toContain(`apply ${path}`);
  expect(Object.keys(file).sort()).toEqual(Object.keys(schema.properties).sort());
  expect(await readFile(join(dirname(path), file.$schema), "utf8")).toBe(
    await readFile("infra/admin/apply.schema.json", "utf8"),
  );
  for (const [section, entry] of Object.entries(entrySchemas)) {
    const used = Object.values<object>(file[section]).flatMap((one) => Object.keys(one));
    expect([...new Set(used)].sort(), section).toEqual(Object.keys(entry.shape).sort());
  }
  const statuses = (applied: Record<string, Record<string, { status: string }>>) =>
    Object.keys(entrySchemas).flatMap((section) => Object.values(applied[section] ?? {}).map(({ status }) => status));
  expect(new Set(statuses(await adminJson(["apply", path])))).toEqual(new Set(["created"]));
  const again = await adminJson(["apply", path]);
  expect([new Set(statuses(again)), again.warnings]).toEqual([new Set(["unchanged"]), undefined]);
});

it("the file's JSON Schema is current: `./patchbay schema > infra/admin/apply.schema.json` updates it", async () => {
  expect(JSON.parse((await admin(["schema"])).stdout)).toEqual(schema);
  expect(await adminJson(["schema"])).toEqual(schema);
});
