import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { parentPermissions } from "../../../shared/attachments/routes.ts";
import type { StoredEvent } from "../../../shared/history/event.ts";
import { routes } from "../../../shared/routes.ts";
import { tryApply } from "../../../shared/tenants/apply.ts";
import { knownPermissions } from "../../../shared/tenants/permissions.ts";
import { beforeTableCall, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { operator } from "../../support/fixtures/apply.ts";
import { customer, tenants } from "../../support/fixtures/tenants.ts";
import { failure } from "../../support/processes/failure.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { call } from "../../support/requests/client.ts";

const nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

describe("a command with invalid values", () => {
  it("says in one line what is wrong with which option, and exits with 2 if it is used wrongly", async () => {
    const t = await tenants();
    const [acme, ops, foreigner] = [t.account("acme"), t.user("ops"), t.user("other")];
    const issue = ["key", "issue", "--account", acme, "--user"];
    const createUser = ["user", "create", "--account", acme];
    const named = ["account", "create", "--name"];
    for (const [args, expected, message] of [
      [[...createUser, "--permission", "bad perm"], 1, /^--permission: must be a text without spaces$/m],
      [[...issue, ops, "--expires-at", "2020-01-01T00:00:00Z"], 2, /--expires-at.*It is in the past/],
      [[...issue, ops, "--expires-at", "soon"], 2, /ISO 8601/],
      [[...issue, ops, "--label", "x".repeat(101)], 1, /^--label: must be at most 100 characters$/m],
      [[...issue, foreigner], 1, /^--user: must be a user of the key's account or of one above it/m],
      [[...named, " "], 1, /^--name: can't be blank$/m],
      [[...named, "A", "--parent", nobody], 1, new RegExp(`^--parent: there is no account ${nobody}$`, "m")],
      [["account", "rename", acme, " "], 1, /^The name can't be blank\.$/m],
      [["account", "feature", acme, "maybe"], 2, /^The feature can be on or off, not maybe\.$/m],
      [["apply", "/no/file"], 1, /^There is no file \/no\/file: pass an existing file, or - for standard input\.$/m],
      [["apply", "/"], 1, /^\/ is a directory/m],
    ] as const)
      expect(await admin(args), args.join(" ")).toEqual(failure(expected, message));
  });

  it("is not one that issues a key for a user several levels above or beside it", async () => {
    const { accounts, subAccounts } = await customer({ levels: 3, subAccounts: 1 });
    for (const [of, account] of [
      [accounts[0], accounts[2]],
      [accounts[1], subAccounts[0]],
    ] as const) {
      const { id: user } = await adminJson(["user", "create", "--account", of ?? ""]);
      const issued = await adminJson(["key", "issue", "--account", account ?? "", "--user", user]);
      expect(issued).toMatchObject({ key: expect.stringMatching(/^apik_/) });
    }
  });

  it.each([
    [["account", "show", nobody], `There is no account ${nobody}: \`account list\` lists the existing ones.\n`],
    [["account", "rename", nobody, "A"], `There is no account ${nobody}:`],
    [["user", "list", "--account", nobody], `There is no account ${nobody}:`],
    [["order", "list", "--account", nobody], `There is no account ${nobody}:`],
    [["switch", "list", "--account", nobody], `There is no account ${nobody}:`],
    [["user", "disable", "nope"], "There is no user nope:"],
    [["user", "permissions", nobody], `There is no user ${nobody}:`],
    [["key", "revoke", "apik_x", "--yes"], "There is no such API key:"],
    [["account", "show", "apik_x"], "There is no account with this id: it is an API key.\n"],
    [["order", "show", "nope"], "There is no order nope:"],
    [["order", "checkout", "nope"], "There is no order nope:"],
    [["request", "list", "--order", nobody], `There is no order ${nobody}:`],
    [["request", "show", "nope"], "There is no request nope:"],
    [["attachment", "list", nobody], `There is no request and no order ${nobody}:`],
  ])("names what does not exist: %s", async (args, message) => {
    expect(await admin(args)).toEqual(failure(1, `\n${message}`));
  });
});

it("restore says that the local stack cannot restore", async () => {
  const advice = "The local stack, or this emulator, does not support this: choose a stack on AWS with --stack";
  expect(await admin(["restore", "--to", "2026-11-21T12:00:00Z"])).toEqual(failure(1, advice));
});

it("at most 1,000 problems of a file are listed, which the last line says", async () => {
  const orders = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`o${n}`, { account: "none" }]));
  const { stderr } = await admin(["apply", "-"], { input: JSON.stringify({ orders }) });
  expect(stderr).toMatch(/\n\/orders\/o999\/account: .+\nAt most 1000 problems are listed\.\n$/);
});

describe("permissions", () => {
  it("are those that the endpoints require, and their wildcards", () => {
    const required = routes.map(({ permission }) => permission);
    const exact = [...required, ...Object.values(parentPermissions).flatMap((states) => Object.values(states))];
    const wildcards = exact.map((permission) => permission.replace(/:.*/, ":*"));
    expect(knownPermissions).toEqual([...new Set([...exact, ...wildcards])].sort());
  });

  it("that a command both grants and removes are removed", async () => {
    const id = (await tenants()).user("ops");
    const [one = "", other = ""] = knownPermissions;
    const change = ["user", "permissions", id, "--set", other, "--add", one, "--remove", one];
    expect(await adminJson(change)).toEqual({ id, permissions: [other] });
  });

  it("that no operation requires are granted with a warning, which names the nearest one that is known", async () => {
    const t = await tenants();
    const [acme, ops] = [t.account("acme"), t.user("ops")];
    const misspelt = "messaging_switchs:index";
    const detail = `${misspelt} is not required by any operation: the nearest known permission is messaging_switches:index`;
    const created = await admin(["user", "create", "--account", acme, "--permission", misspelt, "--json"]);
    const changed = await admin(["user", "permissions", ops, "--set", misspelt, "--json"]);
    for (const { code, stderr } of [created, changed])
      expect([code, stderr]).toEqual([0, expect.stringContaining(`\nWarning: ${detail}\n`)]);
    expect(JSON.parse(changed.stdout)).toEqual({ id: ops, permissions: [misspelt] });
    const { id } = JSON.parse(created.stdout);
    const file = { users: { "a/b": { id, permissions: ["messaging_switches:*", misspelt] } } };
    const applied = await admin(["apply", "-"], { input: JSON.stringify(file) });
    const warning = { pointer: "/users/a~1b/permissions/1", detail };
    expect(JSON.parse(applied.stdout).warnings).toEqual([warning]);
    expect(applied.stderr).toContain(`Warning: ${warning.pointer}: ${detail}\n`);
    const result = await tryApply({ dry_run: true, ...file }, operator());
    expect([result.error, result.applied?.warnings]).toEqual([undefined, [warning]]);
    const many = Array.from({ length: 1_000 }, (_, n) => `other:${n}`);
    const users = { u: { id, permissions: many }, v: { account: acme, permissions: ["other"] } };
    expect((await tryApply({ users }, operator())).applied?.warnings).toHaveLength(1_000);
  });

  it("of a user can be changed, with effect at once: `*` grants every operation of its resource", async () => {
    const t = await tenants();
    const [id, all] = [t.user("ops"), "ordering_request_attachments:*"];
    const status = async () => (await call("GET", t.attachments("request", "acme"), { key: t.key("acme") })).status;
    const permissions = (...change: string[]) => adminJson(["user", "permissions", id.toLowerCase(), ...change]);
    expect(await permissions("--set", "ordering_cart_requests:show")).toMatchObject({ id });
    expect(await status()).toBe(403);
    const both = { id, permissions: ["ordering_cart_requests:show", all] };
    expect(await permissions("--add", all)).toEqual(both);
    expect(await status()).toBe(200);
    await permissions("--remove", all);
    expect(await status()).toBe(403);
    expect(await permissions()).toMatchObject({ permissions: ["ordering_cart_requests:show"] });
  });

  it("that are removed, but still granted by `*` or never granted, are named in a warning", async () => {
    const remove = ["messaging_switches:delete", "ordering_carts:shwo", "ordering_orders:show"];
    const options = ["messaging_switches:*", "ordering_orders:show"].flatMap((one) => ["--set", one]);
    const removals = remove.flatMap((one) => ["--remove", one]);
    const { stderr } = await admin(["user", "permissions", (await tenants()).user("ops"), ...options, ...removals]);
    expect(stderr.split("\n").filter((line) => line.startsWith("Warning"))).toEqual([
      "Warning: messaging_switches:delete is still granted by messaging_switches:*",
      "Warning: ordering_carts:shwo was not granted",
    ]);
  });

  it("of a user that someone else changes meanwhile keep both changes", async () => {
    const id = (await tenants()).user("ops");
    const permissions = (...change: string[]) => adminJson(["user", "permissions", id, ...change]);
    await permissions("--set", "messaging_switches:show", "--set", "messaging_switches:index");
    const users = { ops: { id, permissions: ["messaging_switches:show", "ordering_carts:show"] } };
    const isWrite = ({ operation }: TableCall) => operation === "TransactWriteItems";
    beforeTableCall(isWrite, () => tryApply({ users }, operator()));
    const both = ["messaging_switches:show", "messaging_switches:update", "ordering_carts:show"];
    expect(await permissions("--add", "messaging_switches:update")).toEqual({ id, permissions: both });
    expect(await permissions()).toEqual({ id, permissions: both });
    const { events } = await adminJson(["history", "user", id]);
    expect(events.slice(-2).map(({ changes }: StoredEvent) => changes?.permissions?.to)).toEqual([
      users.ops.permissions,
      both,
    ]);
  });
});

it("an account can be renamed", async () => {
  const id = (await tenants()).account("acme");
  const name = `Acme ${randomUUID()}`;
  expect(await adminJson(["account", "rename", id.toLowerCase(), name])).toMatchObject({ id, name });
  expect(await adminJson(["account", "show", id])).toMatchObject({ name });
});
