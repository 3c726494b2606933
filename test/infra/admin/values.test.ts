import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { parentPermissions } from "../../../shared/attachments/routes.ts";
import { routes } from "../../../shared/routes.ts";
import { tryApply } from "../../../shared/tenants/apply.ts";
import { knownPermissions } from "../../../shared/tenants/permissions.ts";
import { apply, operator } from "../../support/fixtures/apply.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { call } from "../../support/requests/client.ts";

const nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

const customer = async () => {
  const { accounts, users, keys, requests } = await apply({
    accounts: {
      acme: { name: "Acme", features: { ordering_attachment_access: true } },
      other: { name: "Other" },
    },
    users: { ops: { account: "acme", permissions: ["ordering_cart_requests:show"] }, other: { account: "other" } },
    keys: { ops: { account: "acme", user: "ops" } },
    orders: { o: { account: "acme" } },
    requests: { r: { order: "o", type: "PORT_IN" } },
  });
  return {
    acme: accounts.acme?.id ?? "",
    other: accounts.other?.id ?? "",
    ops: users.ops?.id ?? "",
    foreigner: users.other?.id ?? "",
    key: keys.ops?.key ?? "",
    request: requests.r?.id ?? "",
  };
};

describe("a command with invalid values", () => {
  it("says in one line what is wrong with which option, and exits with 2 if it is used wrongly", async () => {
    const { acme, foreigner } = await customer();
    const issue = ["key", "issue", "--account", acme, "--user", foreigner];
    const createUser = ["user", "create", "--account", acme];
    const named = ["account", "create", "--name"];
    for (const [args, expected, message] of [
      [[...createUser, "--permission", "bad perm"], 1, /^--permission: must be a text without spaces$/m],
      [[...issue, "--expires-at", "2020-01-01T00:00:00Z"], 2, /--expires-at.*It is in the past/],
      [[...issue, "--expires-at", "soon"], 2, /ISO 8601/],
      [issue, 1, /^--user: must be a user in the same account tree/m],
      [[...named, " "], 1, /^--name: can't be blank$/m],
      [[...named, "A", "--parent", nobody], 1, new RegExp(`^--parent: there is no account ${nobody}$`, "m")],
      [["account", "rename", acme, " "], 1, /^The name can't be blank\.$/m],
      [["account", "feature", acme, "maybe"], 2, /^The feature can be on or off, not maybe\.$/m],
      [["attachment", "list"], 2, /missing required argument 'request\|order'/m],
      [["apply", "/no/file"], 1, /^There is no file \/no\/file: pass an existing file, or - for standard input\.$/m],
      [["apply", "/"], 1, /^\/ is a directory/m],
    ] as const) {
      const { code, stdout, stderr } = await admin(args);
      expect([code, stdout, stderr], args.join(" ")).toEqual([expected, "", expect.stringMatching(message)]);
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
    [["order", "show", "nope"], "There is no order nope:"],
    [["order", "checkout", "nope"], "There is no order nope:"],
    [["request", "list", "--order", nobody], `There is no order ${nobody}:`],
    [["request", "show", "nope"], "There is no request nope:"],
    [["attachment", "list", nobody], `There is no request and no order ${nobody}.`],
  ])("names what does not exist: %s", async (args, message) => {
    const { code, stdout, stderr } = await admin(args);
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(`\n${message}`)]);
  });
});

describe("permissions", () => {
  it("are those that the endpoints require, and their wildcards", () => {
    const required = routes.map(({ permission }) => permission);
    const exact = [...required, ...Object.values(parentPermissions).flatMap((states) => Object.values(states))];
    const wildcards = exact.map((permission) => permission.replace(/:.*/, ":*"));
    expect(knownPermissions).toEqual([...new Set([...exact, ...wildcards])].sort());
  });

  it("that no operation requires are granted with a warning, which names the nearest one that is known", async () => {
    const { acme, ops } = await customer();
    const misspelt = "messaging_switchs:index";
    const detail = `${misspelt} is required by no operation: the nearest known permission is messaging_switches:index`;
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

  it("of a user can be changed, with effect at once", async () => {
    const { ops, key, request } = await customer();
    const status = async () => (await call("GET", `/api/v1/requests/${request}/attachments`, { key })).status;
    expect(await status()).toBe(403);
    const added = ["user", "permissions", ops, "--add", "ordering_request_attachments:*", "--json"];
    expect(await adminJson(added)).toEqual({
      id: ops,
      permissions: ["ordering_cart_requests:show", "ordering_request_attachments:*"],
    });
    expect(await status()).toBe(200);
    await adminJson(["user", "permissions", ops.toLowerCase(), "--remove", "ordering_request_attachments:*", "--json"]);
    expect(await status()).toBe(403);
    await adminJson(["user", "permissions", ops, "--set", "messaging_switches:index", "--json"]);
    expect((await adminJson(["user", "permissions", ops, "--json"])).permissions).toEqual(["messaging_switches:index"]);
  });
});

describe("an account", () => {
  it("can be renamed", async () => {
    const { acme } = await customer();
    const name = `Acme ${randomUUID()}`;
    expect(await adminJson(["account", "rename", acme.toLowerCase(), name, "--json"])).toMatchObject({
      id: acme,
      name,
    });
    expect(await adminJson(["account", "show", acme, "--json"])).toMatchObject({ name });
  });
});
