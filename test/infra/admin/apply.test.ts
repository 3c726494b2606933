import { randomUUID } from "node:crypto";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ApiError } from "../../../shared/errors.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { apply } from "../../../shared/tenants/apply.ts";
import { admin, adminJson } from "../../support/processes/admin-cli.ts";
import { call } from "../../support/requests/client.ts";

const ulid = expect.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
const made = { id: ulid };

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
  it("creates what the file lists and prints only JSON", async () => {
    const file = join(await mkdtemp(join(tmpdir(), "patchbay-")), "tenants.json");
    await writeFile(file, JSON.stringify(document));
    const answer = await adminJson(["apply", file]);
    expect(answer).toEqual({
      accounts: { acme: made, east: made },
      users: { ops: made },
      keys: { ops: { id: ulid, key: expect.stringMatching(/^apik_[A-Za-z0-9_-]{43}$/) } },
      orders: { o1: made },
      requests: { r1: made },
    });
    const path = `/api/v1/requests/${answer.requests.r1.id}/attachments`;
    expect((await call("GET", path, { key: answer.keys.ops.key })).body).toMatchObject({
      errors: [{ code: "access_denied.ordering_attachment_access", params: { account: answer.accounts.east } }],
    });
  });

  it("takes standard input, and ids of what exists as references", async () => {
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

  it("creates more than one transaction can hold", async () => {
    const { acme } = (await apply({ accounts: { acme: { name: "Acme" } } })).accounts;
    const orders = Object.fromEntries(Array.from({ length: 130 }, (_, n) => [`o${n}`, { account: acme?.id }]));
    const requests = Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`r${n}`, { order: `o${n}`, type: "t" }]));
    const many = await apply({ orders, requests });
    expect(Object.keys(many.orders)).toHaveLength(130);
    for (const { id } of Object.values(many.requests)) expect(await get(keys.request(id))).toBeDefined();
  });

  it("names every place that is at fault", async () => {
    expect(
      await faultsOf({
        accounts: { a: { name: " " }, b: { name: "B", parnt: "a" } },
        users: { u: { account: 7 } },
        keys: { k: { account: "a", user: null, expires_at: "soon" }, "~/": { account: "a" } },
        orders: { o: { account: "a", state: "LOST" } },
        reqests: {},
      }),
    ).toEqual([
      "/accounts/a/name: can't be blank",
      "/accounts/b: has unknown properties: parnt",
      "/users/u/account: must be a string",
      "/keys/k/expires_at: must be an ISO 8601 date and time, with Z or an offset",
      "/keys/~0~1/user: can't be blank",
      "/orders/o/state: must be one of CART, CHECKED_OUT",
      ": has unknown properties: reqests",
    ]);
    expect(await faultsOf([])).toEqual([": must be an object"]);
  });

  it("names references that lead nowhere, loops, trees that are too deep, and requests outside of their order's tree", async () => {
    const nowhere = "there is no account nope";
    expect(
      await faultsOf({ users: { u: { account: "nope" } }, accounts: { a: { name: "A", parent: "nope" } } }),
    ).toEqual([`/accounts/a/parent: ${nowhere}`, `/users/u/account: ${nowhere}`]);
    expect(await faultsOf({ accounts: { a: { name: "A", parent: "b" }, b: { name: "B", parent: "a" } } })).toEqual([
      "/accounts/a/parent: makes the account its own ancestor",
    ]);
    const deep = Object.fromEntries(
      Array.from({ length: 9 }, (_, n) => [`l${n}`, { name: "L", ...(n > 0 && { parent: `l${n - 1}` }) }]),
    );
    expect(await faultsOf({ accounts: deep })).toEqual(["/accounts/l8/parent: makes a tree of more than 8 levels"]);
    expect(
      await faultsOf({
        accounts: { a: { name: "A" }, b: { name: "B" } },
        orders: { o: { account: "a" } },
        requests: { r: { order: "o", account: "b", type: "t" } },
      }),
    ).toEqual(["/requests/r/account: must be the account of the order or one below it"]);
  });

  it("writes nothing when the file is at fault, and exits with 1 and the place on stderr", async () => {
    const name = `Never ${randomUUID()}`;
    const bad = { ...document, accounts: { acme: { name } }, users: { ops: { account: "nope" } }, requests: {} };
    const { stdout, stderr, code } = await admin(["apply", "-"], { input: JSON.stringify(bad) });
    expect([stdout, code]).toEqual(["", 1]);
    expect(stderr).toContain("/users/ops/account: there is no account nope");
    const all: { name: string }[] = await adminJson(["account", "list", "--json"]);
    expect(all.filter((account) => account.name === name)).toEqual([]);
    const broken = await admin(["apply", "-"], { input: "{" });
    expect([broken.code, broken.stderr]).toEqual([1, expect.stringMatching(/^Standard input is not JSON: /m)]);
  });
});
