import { expect, it } from "vitest";
import * as z from "zod/mini";
import { ApiError } from "../../../shared/errors.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import type { Applied } from "../../../shared/tenants/applied.ts";
import { apply } from "../../../shared/tenants/apply.ts";
import { operator } from "../../support/fixtures/apply.ts";
import { runNode } from "../../support/processes/shell.ts";
import { exhaustive } from "../../support/setup/extent.ts";

/** The changes and the problems of a file of tenants. */

const applied = (document: object): Promise<Applied> => apply(document, operator());

/** The problems of a file, each as "pointer sub_code detail". */
const problemsOf = async (document: unknown) => {
  const error = await apply(document, operator()).catch((caught: unknown) => caught);
  if (!(error instanceof ApiError)) throw error;
  return error.body.errors.map(({ source, sub_code, detail }) => `${source?.pointer} ${sub_code} ${detail}`);
};

/** Applies an account, one below it and one below that, and a user, a key and an order of the first. */
const stored = async () => {
  const [acme, east, team, ops, order, key] = Array.from({ length: 6 }, () => newId());
  const ids = { acme, east, team, ops, order, key };
  const sha256 = `${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll("-", "");
  await applied({
    accounts: {
      acme: { id: acme, name: "Acme" },
      east: { id: east, name: "East", parent: "acme" },
      team: { id: team, name: "Team", parent: "east", features: { ordering_attachment_access: true } },
    },
    users: { ops: { id: ops, account: "acme", permissions: ["a:list", "b:*"] } },
    keys: { key: { id: key, account: "acme", user: "ops", sha256 } },
    orders: { order: { id: order, account: "acme" } },
  });
  return { ...ids, sha256 };
};

it("lists an account below its parent only", async () => {
  const { acme = "", east = "", team = "" } = await stored();
  const entries = [keys.childAccount(acme, east), keys.childAccount(east, team), keys.childAccount(null, team)];
  expect((await Promise.all(entries.map(get))).map((entry) => entry?.id)).toEqual([east, team, undefined]);
});

it.each([
  [["b:*", "a:list", "b:*"], "unchanged"],
  [["a:list"], "changed"],
  [["a:list", "c:*"], "changed"],
])("compares permissions as a set: %j are %s", async (permissions, status) => {
  const { ops } = await stored();
  expect((await applied({ users: { one: { id: ops, permissions } } })).users.one?.status).toBe(status);
});

it("leaves features that the file does not name", async () => {
  const { team } = await stored();
  expect((await applied({ accounts: { one: { id: team, features: {} } } })).accounts.one?.status).toBe("unchanged");
});

it.each([
  ["CART", 1],
  ["CHECKED_OUT", 0],
])("moves the version of an order in CART once for all requests that it gets: %s, %i", async (state, moved) => {
  const { order = "", acme } = await stored();
  await transact({ order: { update: keys.order(order), set: { state }, when: {} } });
  const versionOf = async (id: string) =>
    z.parse(z.looseObject({ attachments_version: z.number() }), await get(keys.order(id))).attachments_version;
  const requests = { one: { order, type: "t" }, two: { order, type: "t" } };
  const made = await applied({ requests });
  expect(await versionOf(order)).toBe(moved);
  expect(await get(keys.request(made.requests.one?.id ?? ""))).toMatchObject({ order, account: acme });
  expect((await applied({ orders: { o: { id: order, state: "CART" } } })).orders.o?.status).toBe("unchanged");
  const created = await applied({ accounts: { a: { name: "A" } }, orders: { o: { account: "a", state } } });
  expect(await versionOf(created.orders.o?.id ?? "")).toBe(0);
});

const forwarded = "ADD_MESSAGING_NUMBERS";
it.each([
  ["add_messaging_numbers", forwarded],
  ["Add Messaging-Numbers ", forwarded],
  ["addMessagingNumbers", forwarded],
  ["ADD_MESSAGING_NUMBER", forwarded],
  ["ADD_MESSAGING_NUMBERSS", forwarded],
  ["AD_MESSAGING_NUMBERZ", null],
  ["PORT_IN", null],
  [forwarded, null],
])("warns of a request whose type is nearly the one that is forwarded: %s is taken for %s", async (type, nearest) => {
  const { order = "" } = await stored();
  const detail = `${type.trim()} is never forwarded. Forwarded types: ${nearest}`;
  const warnings = nearest === null ? undefined : [{ pointer: "/requests/a~1b/type", detail }];
  const made = await applied({ requests: { "a/b": { order, type } } });
  expect(made).toMatchObject({ requests: { "a/b": { status: "created" } } });
  expect(made.warnings).toEqual(warnings);
  const again = { "a/b": { id: made.requests["a/b"]?.id, type } };
  expect((await applied({ requests: again })).warnings).toEqual(warnings);
});

it("writes at most 100 items in one transaction, the moved versions of orders included", async () => {
  const { acme, order } = await stored();
  const second = (await stored()).order;
  // There are 31 x 3 items, then 2 x 3 items and two versions, which is 101 in all.
  const users = Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`u${n}`, { account: acme }]));
  const requests = { one: { order, type: "t" }, two: { order: second, type: "t" } };
  const made = await applied({ users, requests });
  expect(Object.values(made.requests)).toMatchObject([{ status: "created" }, { status: "created" }]);
});

it("names everything that is wrong with the form of a file at once", async () => {
  const file = {
    $schema: "s",
    dry_run: "yes",
    reqests: {},
    others: {},
    accounts: { a: { id: "x", name: "A" }, ["n".repeat(255)]: { name: "A" }, ["n".repeat(256)]: { name: "A" } },
    users: { u: { account: 7, permissions: ["bad perm"] } },
    keys: [],
    orders: { o: null, p: { id: "0".repeat(26), account: "0".repeat(26) }, q: { state: "OPEN" }, r: { id: "x" } },
  };
  expect(await problemsOf(file)).toEqual([
    "/accounts/a/id constraint.format must be a ULID",
    "/accounts constraint.length has a name of more than 255 characters",
    "/users/u/account constraint.type must be a string",
    "/users/u/permissions/0 constraint.format must be a text without spaces",
    "/keys constraint.type must be an object",
    "/orders/o constraint.type must be an object",
    "/orders/p/id constraint.format must be a ULID",
    "/orders/q/state constraint.enum must be one of CART, CHECKED_OUT",
    "/orders/r/id constraint.format must be a ULID",
    "/dry_run constraint.type must be true or false",
    " constraint.enum has unknown properties: reqests, others",
    "/orders/p/account constraint.reference there is no account 00000000000000000000000000",
    "/orders/q/account constraint.required can't be blank",
  ]);
});

it("names every reference that means nothing, and every id and hash that is another entry's", async () => {
  const { acme, key, sha256 } = await stored();
  const file = {
    accounts: { a: { name: "A" }, b: { id: acme }, c: { id: acme }, d: { name: "D", parent: "nope" } },
    users: { u: { account: " a " }, v: { account: "gone" } },
    keys: { k: { id: key, sha256 }, l: { sha256 }, m: { id: newId(), account: acme, user: null, sha256 } },
    orders: { o: { account: "a", state: "CHECKED_OUT" } },
    requests: { r: { order: "o", account: "u", type: "t" }, s: { order: "a", type: "t" } },
  };
  expect(await problemsOf(file)).toEqual([
    "/accounts/c/id constraint.unique duplicates the id of b",
    "/keys/l/id constraint.unique duplicates the id of k",
    "/keys/l/sha256 constraint.unique duplicates the sha256 of k",
    "/keys/m/sha256 constraint.unique duplicates the sha256 of l",
    "/accounts/d/parent constraint.reference there is no account nope",
    "/users/v/account constraint.reference there is no account gone",
    "/requests/r/account constraint.reference there is no account u",
    "/requests/s/order constraint.reference there is no order a",
    "/keys/m/sha256 constraint.immutable is the hash of a key with another id",
  ]);
});

it("never makes a revoked key valid again, and says so", async () => {
  const { key, sha256 } = await stored();
  const revoked = (value: boolean) => applied({ keys: { one: { id: key, revoked: value } } });
  expect((await revoked(true)).keys.one?.status).toBe("changed");
  expect(await revoked(false)).toMatchObject({
    keys: { one: { status: "unchanged" } },
    warnings: [{ pointer: "/keys/one/revoked", detail: expect.stringContaining("never becomes valid again") }],
  });
  expect(await get(keys.apiKey(sha256))).toMatchObject({ revoked: true });
});

it("takes a key only with a user of its own account or of one above it, in the file or stored", async () => {
  const [{ acme, team, ops }, other] = [await stored(), await stored()];
  const detail = "constraint.reference must be a user of the key's account or of one above it";
  const below = await applied({ users: { below: { account: team } } }).then(({ users }) => users.below?.id);
  expect(await problemsOf({ keys: { one: { account: acme, user: below } } })).toEqual([`/keys/one/user ${detail}`]);
  expect(await problemsOf({ keys: { one: { account: team, user: other.ops } } })).toEqual([`/keys/one/user ${detail}`]);
  const file = (parent: string | undefined) => ({
    accounts: { mine: { name: "Mine", ...(parent && { parent }) }, yours: { name: "Yours" } },
    users: { you: { account: "yours" } },
    keys: { foreign: { account: "mine", user: "you" }, shared: { account: "mine", user: ops } },
  });
  expect(await problemsOf(file(undefined))).toEqual([`/keys/foreign/user ${detail}`, `/keys/shared/user ${detail}`]);
  expect(await problemsOf(file(acme))).toEqual([`/keys/foreign/user ${detail}`]);
});

it("shows of each order its state, and how its last run ended", async () => {
  const { acme, order = "" } = await stored();
  const ordersOf = async (orders: object) => (await applied({ orders })).orders;
  const file = { old: { id: order }, done: { account: acme, state: "CHECKED_OUT" } };
  expect(await ordersOf(file)).toMatchObject({
    old: { status: "unchanged", state: "CART", last_run: null },
    done: { status: "created", state: "CHECKED_OUT", last_run: null },
  });
  await transact({
    run: { put: { ...keys.checkout(order), status: "FAILED", failure: "refused", reason: "Unsigned." } },
  });
  expect((await ordersOf({ old: { id: order } })).old).toEqual({
    id: order,
    status: "unchanged",
    state: "CART",
    last_run: { status: "FAILED", failure: "refused" },
  });
});

it.runIf(exhaustive).each(["upwards", "downwards"])(
  "takes little memory for a chain of 20,000 accounts, told %s",
  async (direction) => {
    const parentOf = (n: number) => (n > 0 ? { parent: `c${n - 1}` } : {});
    const chain = Array.from({ length: 20_000 }, (_, n) => [`c${n}`, { name: "A", ...parentOf(n) }] as const);
    const accounts = Object.fromEntries(direction === "downwards" ? chain : chain.toReversed());
    const args = ["--max-old-space-size=192", "--import", "./infra/node.js", "infra/patchbay.ts", "apply", "-"];
    const { code, stderr } = await runNode(args, { input: JSON.stringify({ accounts }) });
    expect(code).toBe(1);
    expect(stderr).toMatch(/\/parent: makes a tree of more than 8 levels/);
  },
);
