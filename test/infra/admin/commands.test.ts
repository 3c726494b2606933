import { describe, expect, it, onTestFinished } from "vitest";
import { leavesOf, usageOf } from "../../../infra/admin/cli/usage.ts";
import { createProgram } from "../../../infra/admin/program.ts";
import { apply } from "../../../shared/tenants/apply.ts";
import { beforeTableCall, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { replaceTimeouts } from "../../support/fault-proxy/timeouts.ts";
import { operator } from "../../support/fixtures/apply.ts";
import { sha256Of } from "../../support/fixtures/upload-content.ts";
import { failure } from "../../support/processes/failure.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { call } from "../../support/requests/client.ts";
import { proxies } from "../../support/servers/own-table.ts";

const status = async (request: string, key: string) =>
  (await call("GET", `/api/v1/requests/${request}/attachments`, { key })).status;

/** Creates an account with everything that a request needs, command by command. */
const customer = async () => {
  const create = (command: string, ...options: string[]) => adminJson([...command.split(" "), ...options]);
  const { id: account } = await create("account create --name Acme --attachments");
  const permissions = ["--permission", "ordering_cart_requests:show", "--permission", "ordering_request_attachments:*"];
  const { id: user } = await create(`user create --account ${account}`, ...permissions);
  const key = await create(`key issue --account ${account} --user ${user}`);
  const { id: order } = await create(`order create --account ${account}`);
  const { id: request } = await create(`request create --order ${order} --type ADD_MESSAGING_NUMBERS`);
  return { account, user, key, order, request };
};

const program = await createProgram();

describe("the operators' CLI", () => {
  it("creates a customer, revokes a key, disables a user and turns the feature off, with effect at once", async () => {
    const { account, user, key, request } = await customer();
    expect(await status(request, key.key)).toBe(200);
    await adminJson(["account", "feature", account, "off"]);
    expect(await status(request, key.key)).toBe(403);
    await adminJson(["account", "feature", account, "on"]);
    await adminJson(["user", "disable", user]);
    expect(await status(request, key.key)).toBe(401);
    await adminJson(["user", "enable", user]);
    expect(await status(request, key.key)).toBe(200);
    expect(await admin(["key", "revoke", key.id])).toEqual(failure(2, "--yes"));
    expect(await status(request, key.key)).toBe(200);
    await adminJson(["key", "revoke", key.id, "--yes"]);
    expect(await status(request, key.key)).toBe(401);
  });

  it("takes an API key from standard input, because an argument stays in the shell's history", async () => {
    const { key, request } = await customer();
    const input = `${key.key}\n`;
    const jsonFrom = async (...args: string[]) => {
      const { code, stdout } = await admin([...args, "--json"], { input });
      expect([args, code]).toEqual([args, 0]);
      return JSON.parse(stdout);
    };
    const id = { id: key.id };
    expect(await jsonFrom("key", "show", "-")).toMatchObject(id);
    expect(await jsonFrom("find", "-")).toMatchObject({ found: [{ type: "api_key", ...id }] });
    expect(await jsonFrom("history", "key", "-")).toMatchObject({ events: [{ resource: id }] });
    expect(await jsonFrom("key", "label", "-", "portal")).toMatchObject(id);
    expect(await jsonFrom("access", "-", "GET", "/api/v1/switches")).toHaveProperty("status");
    expect(await jsonFrom("key", "rotate", "-")).toMatchObject({ replaces: key.id });
    expect(await jsonFrom("key", "revoke", "-", "--yes")).toMatchObject({ ...id, revoked: true });
    expect(await status(request, key.key)).toBe(401);
  });

  it("says that an account without a parent is a root account, and asks on a terminal", async () => {
    const create = ["account", "create", "--name", "Nordwind"];
    const lasting = "It cannot be moved below another account later.";
    expect((await admin(create)).stderr).toContain(`Nordwind is a root account. ${lasting}\n`);
    const refused = await admin(create, { isTerminal: true, input: "n\n" });
    expect(refused).toEqual(failure(1, `Create Nordwind as a root account? ${lasting} [y/N] Nothing was changed.\n`));
    const { code, stdout } = await admin(create, { isTerminal: true, input: "y\n" });
    const [id = ""] = /\w{26}/.exec(stdout) ?? [];
    expect([code, (await adminJson(["account", "show", id])).parent]).toEqual([0, null]);
    for (const option of [["--yes"], ["--parent", id]])
      expect((await admin([...create, ...option], { isTerminal: true })).stderr).not.toContain("[y/N]");
  });

  it("says of a file's errors where they are, and what is allowed, without JSON", async () => {
    const input = JSON.stringify({ acounts: {}, accounts: { a: { nam: "A" } }, orders: { o: { state: "NEW" } } });
    const { stderr } = await admin(["apply", "-"], { input });
    expect(stderr).not.toMatch(/[{}]/);
    for (const line of [
      "(the whole file): has unknown properties: acounts; allowed are $schema, dry_run, on_behalf_of, accounts, users,",
      "/accounts/a: has unknown properties: nam; allowed are id, name, parent, features\n",
      "/orders/o/state: must be one of CART, CHECKED_OUT\n",
    ])
      expect(stderr).toContain(line);
  });

  it("rotates a key, and accepts both keys for the overlap and then only the new one", async () => {
    const { key, request } = await customer();
    const next = await adminJson(["key", "rotate", key.key, "--overlap-hours", "1"]);
    expect([await status(request, key.key), await status(request, next.key)]).toEqual([200, 200]);
    const last = await adminJson(["key", "rotate", next.id, "--overlap-hours", "0"]);
    expect([await status(request, next.key), await status(request, last.key)]).toEqual([401, 200]);
  });

  it("rotates a key once: a second successor would end with the first key, so it names the first successor", async () => {
    const { account, key } = await customer();
    const next = await adminJson(["key", "rotate", key.id]);
    const replaced = `The API key ${key.id} is already replaced by ${next.id}: use that one. \`key revoke ${key.id}\` revokes`;
    expect(await admin(["key", "rotate", key.key])).toEqual(failure(1, replaced));
    expect((await adminJson(["key", "list", "--account", account])).length).toBe(2);
    await adminJson(["key", "revoke", key.id, "--yes"]);
    expect(await admin(["key", "rotate", key.key])).toEqual(failure(1, replaced));
    expect(await adminJson(["key", "show", next.id])).toMatchObject({ expires_at: null, replaced_by: null });
    expect(await adminJson(["key", "show", key.id])).toMatchObject({ replaced_by: next.id });
    // The same holds if both rotations start at once.
    const again = JSON.stringify({ keys: { old: { id: key.id, replaced_by: key.id } } });
    expect(await admin(["apply", "-"], { input: again })).toEqual(
      failure(
        1,
        /^\/keys\/old\/replaced_by: can't be changed.*\nLeave out what can't be changed, or give it its present /m,
      ),
    );
  });

  it("does not rotate a key that is revoked meanwhile", async () => {
    const { key } = await customer();
    const isWrite = ({ operation }: TableCall) => operation === "TransactWriteItems";
    beforeTableCall(isWrite, () => apply({ keys: { old: { id: key.id, revoked: true } } }, operator()));
    const revoked = `The API key ${key.id} is revoked: issue a new one with \`key issue\`.`;
    expect(await admin(["key", "rotate", key.id])).toEqual(failure(1, revoked));
  });

  it("rotates a key that expires into one that expires then, and one that has expired not at all", async () => {
    const { account, user } = await customer();
    const expires_at = "2100-01-01T00:00:00.000Z";
    const old = ["--account", account, "--user", user, "--label", "Portal", "--expires-at", expires_at];
    const { key } = await adminJson(["key", "issue", ...old]);
    const next = await adminJson(["key", "rotate", key, "--overlap-hours", "0"]);
    expect(await adminJson(["key", "list", "--account", account])).toContainEqual(
      expect.objectContaining({ id: next.id, label: "Portal", inserted_at: expect.any(String), expires_at }),
    );
    await apply({ keys: { next: { id: next.id, expires_at: "2020-01-01T00:00:00.000Z" } } }, operator());
    expect(await admin(["key", "rotate", next.id])).toEqual(failure(1, "has expired: issue a new one"));
  });

  it("lists keys by the prefix of their hash, without the keys themselves", async () => {
    const { account, user, key } = await customer();
    const all = await adminJson(["key", "list"]);
    const listedKey = all.find(({ id }: { id: string }) => id === key.id);
    const byPrefix = await admin(["key", "list", "--prefix", listedKey.sha256.slice(0, 12)]);
    expect(byPrefix.stdout).toContain(key.id);
    expect(byPrefix.stdout).toContain((await adminJson(["account", "show", account])).name);
    expect(byPrefix.stdout).not.toMatch(/apik_|[0-9a-f]{16}/);
    const shown = {
      id: key.id,
      account,
      user,
      user_disabled: false,
      label: null,
      inserted_at: expect.any(String),
      expires_at: null,
    };
    expect(listedKey).toEqual({ ...shown, revoked: false, replaced_by: null, sha256: sha256Of(key.key) });
    for (const reference of [key.id, key.key]) expect(await adminJson(["key", "show", reference])).toEqual(listedKey);
  });

  it("prints lists as tables, and single items with one line per property", async () => {
    const { account, order, request } = await customer();
    expect((await admin(["account", "show", account])).stdout).toMatch(new RegExp(`^id +${account}\nname +Acme\n`));
    expect((await admin(["order", "list", "--account", account])).stdout).toBe(
      `id                          account's name  account                     state  last_run  failure  ended_at  attachments\n${order}  Acme            ${account}  CART   -         -        -         0\n`,
    );
    expect(await adminJson(["request", "list", "--order", order])).toEqual([
      { id: request, type: "ADD_MESSAGING_NUMBERS", account },
    ]);
    expect((await admin(["attachment", "list", request])).stdout).toBe("Nothing found.\n");
  });

  it("lists, finds and changes without reading the whole table", async () => {
    const { account, user, key, order, request } = await customer();
    proxies.table.choose(({ operation }) => (operation === "Scan" ? "refuse" : undefined));
    const lists = ["account", "user", "key", "order", "switch"].map((group) => [group, "list"]);
    for (const args of [
      ...lists.flatMap((list) => [list, [...list, "--account", account]]),
      ["account", "show", account],
      ["order", "list", "--failed"],
      ["order", "show", order],
      ["request", "list", "--order", order],
      ["request", "show", request],
      ["find", request],
      ["access", key.id, "GET", `/api/v1/requests/${request}/attachments`],
      ["attachment", "list", order],
      ["attachment", "list", request],
      ["user", "disable", user],
      ["key", "rotate", key.id],
      ["key", "revoke", key.id, "--yes"],
      ["sweep", "--all"],
    ])
      expect([args, await admin(args)]).toEqual([args, expect.objectContaining({ code: 0 })]);
    expect(proxies.table.calls.filter(({ operation }) => operation === "Scan")).toEqual([]);
    const written = proxies.table.calls.filter(({ operation }) => operation === "TransactWriteItems").length;
    for (const [method, path] of [
      ["POST", `requests/${request}/uploads`],
      ["DELETE", "switches/1"],
      ["GET", "nowhere"],
    ] as const)
      expect((await admin(["access", key.id, method, `/api/v1/${path}`])).code).toBe(0);
    expect(proxies.table.calls.filter(({ operation }) => operation === "TransactWriteItems")).toHaveLength(written);
    expect((await admin(["check"])).code).toBe(1);
    proxies.table.choose(() => undefined);
  });

  it("reads no page to check the access to a list", async () => {
    const { key, request } = await customer();
    const from = proxies.table.calls.length;
    const path = `/api/v1/requests/${request}/attachments`;
    expect(await adminJson(["access", key.key, "GET", path])).toMatchObject({ status: null });
    expect(proxies.table.calls.slice(from).filter(({ operation }) => operation === "Query")).toEqual([]);
  });

  it("lists orders by account, page by page: the reads of a page share calls", async () => {
    onTestFinished(() => void proxies.table.choose(() => undefined));
    // On a busy machine, reads that time out would be repeated, and counted again.
    onTestFinished(replaceTimeouts(() => 60_000));
    const names = Array.from({ length: 120 }, (_, index) => `o${index}`);
    const document = {
      accounts: { a: { name: "Many" } },
      orders: Object.fromEntries(names.map((name) => [name, { account: "a" }])),
      requests: Object.fromEntries(names.map((name) => [name, { order: name, type: "PORT_IN" }])),
    };
    const { accounts, orders } = await adminJson(["apply", "-"], JSON.stringify(document));
    const reads: string[] = [];
    proxies.table.choose(({ operation }) => {
      if (/Get/.test(operation)) reads.push(operation);
      return undefined;
    });
    const { stdout, stderr, code } = await admin(["order", "list", "--account", accounts.a.id]);
    expect(code, stderr).toBe(0);
    const ids = Object.values<{ id: string }>(orders).map(({ id }) => id);
    expect(stdout.match(/^01\w{24}/gm)).toEqual(ids.toSorted());
    expect(stdout.match(/^id /gm)).toHaveLength(1);
    // Each order has a run, a request and an account. On an idle machine, all of them take eight calls.
    expect(reads.length).toBeLessThan(ids.length / 2);
  });

  it("finds with doctor a table and a bucket that refuse writes, and leaves nothing in others", async () => {
    onTestFinished(() => Object.values(proxies).forEach((proxy) => void proxy.choose(() => undefined)));
    const faultsOf = async (isReadOnly: boolean) => {
      const calls: string[] = [];
      for (const proxy of Object.values(proxies))
        proxy.choose(({ operation }) => {
          calls.push(operation);
          return isReadOnly && /^Put/.test(operation) ? "refuse" : undefined;
        });
      const { checks } = JSON.parse((await admin(["doctor", "--json"])).stdout);
      const faults = checks.flatMap(({ check, status }: Record<string, string>) => (status === "FAULT" ? [check] : []));
      return { faults, writes: calls.filter((call) => /^(Put|Delete)/.test(call)).sort() };
    };
    // The tests' table has no stream.
    const faults = ["table's stream", "table's writes", "bucket's writes"];
    expect(await faultsOf(true)).toEqual({ faults, writes: ["PutItem", "PutObject"] });
    const writes = ["DeleteItem", "DeleteObject", "PutItem", "PutObject"];
    expect(await faultsOf(false)).toEqual({ faults: ["table's stream"], writes });
  });

  it("has help with examples for every command, and suggests what to do about a wrong one", async () => {
    const help = await admin(["--help"]);
    expect(help.code).toBe(0);
    for (const name of ["apply", "account", "user", "key", "order", "request", "attachment"])
      expect(help.stdout).toContain(name);
    expect((await admin(["key", "issue", "--help"])).stdout).toContain(
      "Usage: patchbay key issue --account <id> --user <id> [--on-behalf-of <text>] [--label <text>]",
    );
    expect(await admin(["acount"])).toEqual(failure(2, "There is no command acount. Did you mean account?\nUsage: "));
  });

  it.each(leavesOf(program).map((one) => [usageOf(one).replace(/ [<[-].*/, ""), one] as const))(
    "names all that is missing, or wrong, with the usage of that command: %s",
    async (usage, command) => {
      const words = usage.replace("Usage: patchbay ", "").split(" ");
      const args = command.registeredArguments.filter(({ required }) => required).map((one) => `<${one.name()}>`);
      const options = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
      const missing = [...args, ...options];
      const expected = missing.length > 0 ? `Missing: ${missing.join(", ")}` : "There is no option --wrong.";
      const result = await admin(missing.length > 0 ? words : [...words, "--wrong"]);
      const needed = missing.length > 0 ? ` ${missing.join(" ")}` : "";
      expect(result).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(/^.+\n.+\n$/) });
      expect(result.stderr.startsWith(expected)).toBe(true);
      expect(result.stderr).toContain(`\n${usage}${needed}`);
    },
  );

  it.each([
    [["shw"], "There is no command shw. Did you mean account show or key show or", "today|apply|schema|account"],
    [["completion"], "There is no command completion.\nUsage: ", "today|apply|schema"],
    [["export"], "There is no command export. Did you mean account export?\nUsage: ", "today|apply|schema"],
    [["history", "x"], "There is no command history x.\nUsage: ", "history order|request|"],
    [["order", "lst"], "There is no command order lst. Did you mean order list?", "order create|list|"],
    [["label", "1"], "There is no command label. Did you mean key label?", "today|apply|schema"],
    [["order", "shw", "1"], "There is no command order shw. Did you mean order show?", "order create|list|show|"],
    [
      [],
      "patchbay needs a command.",
      "today|apply|schema|account|user|key|order|request|attachment|switch|history|find|access|doctor|carrier|env|check|sweep|restore|start|console|docs|synth|deploy|deploy-local|destroy",
    ],
    [["key"], "key needs a command.", "key issue|list|show|label|"],
    [["help", "shw"], "There is no command shw. Did you mean account show or", "today|apply|schema|account"],
    [["sweep", "now", "please"], "Too many arguments: it takes 0 and got 2.", "sweep [--dry-run] [--all]"],
    [["sweep", "--dry-rum"], "There is no option --dry-rum. Did you mean --dry-run?", "sweep [--dry-run] [--all]"],
    [["account", "create", "--nam", "x"], "There is no option --nam. Did you mean --name?", "account create --name"],
    [["key", "show", "--wrong"], "There is no option --wrong.", "key show <id-or-key>"],
    [["key", "revoke", "1", "--on-behalf-of"], "--on-behalf-of needs a value: <text>.", "key revoke <id-or-key>"],
    [
      ["order", "create", "--account", "1", "--state", "cart"],
      '--state cannot be "cart". Allowed choices are CART, CHECKED_OUT.',
      "order create",
    ],
    [["key", "rotate", "1", "--overlap-hours", "soon"], '--overlap-hours cannot be "soon". It must be a', "key rotate"],
    [
      ["order", "settle", "1", "--checked-out", "--reason", " "],
      '--reason cannot be " ". It must have',
      "order settle <id>",
    ],
    [["order", "checkout"], "Pass the id of an order, or --failed (with", "order checkout [id] [--wait]"],
  ])("says what is wrong, and how the command is used: %s", async (args, message, usage) => {
    const { code, stderr } = await admin(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).toContain(`\nUsage: patchbay ${usage}`);
  });

  it("says what a key is for, whose it is, and whether its user is disabled", async () => {
    const { account, user, key } = await customer();
    const behalf = ["--on-behalf-of", "Anna"];
    expect(await adminJson(["key", "label", key.key, " Portal ", ...behalf])).toEqual({ id: key.id, label: "Portal" });
    await adminJson(["user", "disable", user]);
    expect((await admin(["key", "show", key.id])).stdout).toMatch(
      new RegExp(`account +${account}\naccount's name +Acme\nuser +${user}\nuser_disabled +true\nlabel +Portal\n`),
    );
    const url = "https://api.example.com/live/api/v1/switches?first=1";
    expect((await admin(["access", key.id, "get", url])).stdout).toBe(
      `ok  a route matches the method and the path: switches/list\nok  the API key exists: ${key.id}\nok  the API key is not revoked: ${key.id}\nok  the API key has not expired\nok  the API key's user exists: ${user}\nNO  the API key's user is not disabled: ${user}: The access token is missing or invalid.\n\nThe endpoint responds with 401. To change that: \`user enable ${user}\`.\n`,
    );
    const { events } = await adminJson(["history", "key", key.id]);
    expect(events[1]).toMatchObject({
      changes: { label: { from: null, to: "Portal" } },
      actor: { on_behalf_of: "Anna" },
    });
    expect(await admin(["key", "label", key.id, " "])).toEqual(failure(1, "The label can't be blank."));
  });

  it("lists the root accounts as such, with the number of the accounts below each", async () => {
    const { account } = await customer();
    const { id: below } = await adminJson(["account", "create", "--name", "Below", "--parent", account]);
    await adminJson(["account", "create", "--name", "Deeper", "--parent", below]);
    const { stdout } = await admin(["account", "list"]);
    expect(stdout).toMatch(new RegExp(`^${account} +Acme +1 +true +0 +2 +- +-$`, "m"));
    expect(stdout).not.toContain(below);
    expect(stdout).toMatch(
      /\n\nThese are the root accounts: `account list --account <id>` lists those below one of them\.\n$/,
    );
    const tree = await adminJson(["account", "list", "--account", account]);
    expect(tree.map((one: { accounts_below: number }) => one.accounts_below)).toEqual([2, 1, 0]);
  });

  it("shows with a request its order and its account, and what happened to it", async () => {
    const { account, order, request } = await customer();
    expect((await admin(["request", "show", request])).stdout).toMatch(
      new RegExp(`^id +${request}\norder +${order}\naccount +${account}\naccount's name +Acme\n[^]*request\\.created`),
    );
  });

  it("says what to do if no service is running", async () => {
    const env = { TABLE_NAME: "", PATCHBAY_STATE: "/nonexistent" };
    expect(await admin(["account", "list"], { env })).toEqual(failure(1, "npm start"));
  });

  it("takes the program's options before the command, even with a value that is a command's name", async () => {
    const expected = failure(2, "--stack is a deployed stack and --port a local one: choose one of them.");
    expect(await admin(["--stack", "account", "--port", "key", "order", "list"])).toEqual(expected);
    expect((await admin(["help", "order"])).stdout).toContain("Usage: patchbay order create|list|");
  });

  it("prints JSON wherever --json stands: before the command, in it or after it", async () => {
    const { account } = await customer();
    const expected = await adminJson(["account", "show", account]);
    expect(expected).toMatchObject({ id: account });
    for (const args of [
      ["--json", "account", "show", account],
      ["account", "--json", "show", account],
      ["account", "show", "--json", account],
    ])
      expect(JSON.parse((await admin(args)).stdout)).toEqual(expected);
    const wrong = await admin(["--json", "account", "shw"]);
    expect(JSON.parse(wrong.stdout)).toEqual({ errors: [{ detail: expect.stringMatching(/^There is no command/) }] });
  });

  it("prints errors as JSON under --json: those of a file, of a command that fails, and of one that is used wrongly", async () => {
    for (const [args, expected, error] of [
      [["apply", "-"], 1, { code: "invalid_parameter", source: { in: "body", pointer: "/users/one/account" } }],
      [["order", "show", "nope"], 1, { detail: expect.stringMatching(/^There is no order nope/) }],
      [["attachment", "list"], 2, { detail: "Missing: <request-or-order-id>." }],
    ] as const) {
      const { code, stdout, stderr } = await admin([...args, "--json"], {
        input: '{"users":{"one":{"account":"nope"}}}',
      });
      expect([code, JSON.parse(stdout)]).toEqual([expected, { errors: [expect.objectContaining(error)] }]);
      expect(stderr).not.toMatch(/nope|Missing/);
    }
  });
});
