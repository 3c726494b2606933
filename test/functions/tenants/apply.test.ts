import { InvokeCommand, type InvokeCommandInput, LambdaClient } from "@aws-sdk/client-lambda";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { handler } from "../../../functions/tenants/apply.ts";
import { historyOf } from "../../../infra/admin/history/history.ts";
import { type LambdaHandler, startLambda } from "../../../infra/local/lambda.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get, scan } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { invalidBody } from "../../support/requests/client.ts";
import { captureLogs } from "../../support/servers/captured-logs.ts";
import { proxies } from "../../support/servers/own-table.ts";
import { exhaustive } from "../../support/setup/extent.ts";

let client: LambdaClient;
let close: () => Promise<void>;
beforeAll(async () => {
  const lambda = await startLambda(
    new Map<string, LambdaHandler>([
      ["patchbay-apply", handler],
      ["too-large", () => "x".repeat(6_291_557)],
    ]),
  );
  client = new LambdaClient({ endpoint: lambda.url, maxAttempts: 1 });
  close = lambda.close;
});
afterAll(() => close());

let logs: ReturnType<typeof captureLogs>;
beforeEach(() => {
  logs = captureLogs();
});
afterEach(() => {
  logs.stop();
  proxies.table.choose(() => undefined);
});

const invoke = async (input: Partial<InvokeCommandInput>) => {
  const command = new InvokeCommand({ FunctionName: "patchbay-apply", ...input });
  const { Payload, FunctionError, StatusCode, $metadata } = await client.send(command);
  const text = Payload?.transformToString();
  return { status: StatusCode, error: FunctionError, output: text ? JSON.parse(text) : null, id: $metadata.requestId };
};
const apply = async (file: unknown) => (await invoke({ Payload: JSON.stringify(file) })).output;

const nothing = { accounts: {}, users: {}, keys: {}, orders: {}, requests: {} };

describe("the function that applies files, invoked with the SDK", () => {
  it("dry-runs, creates and changes, and logs one line of counts without names or keys", async () => {
    const id = newId();
    const file = { accounts: { acme: { id, name: "Acme" } }, keys: { k: { account: "acme", user: null } } };
    const key = { id: null, status: "created" };
    expect(await apply({ ...file, dry_run: true })).toEqual({
      ...nothing,
      accounts: { acme: { id, status: "created" } },
      keys: { k: key },
    });
    expect(await get(keys.account(id))).toBeUndefined();
    const { output, id: request_id } = await invoke({ Payload: JSON.stringify(file) });
    expect(output.keys.k).toEqual({ ...key, id: expect.any(String), key: expect.stringMatching(/^apik_/) });
    const changed = await apply({ accounts: { acme: { id, name: "Acme Ltd" } } });
    const changes = { name: { from: "Acme", to: "Acme Ltd" } };
    expect(changed).toEqual({ ...nothing, accounts: { acme: { id, status: "changed", changes } } });
    const counts = { message: "apply", dry_run: false, created: 0, changed: 0, unchanged: 0, errors: 0 };
    expect(logs.lines()).toMatchObject([
      { ...counts, dry_run: true, created: 2 },
      { ...counts, request_id, created: 2 },
      { ...counts, changed: 1 },
    ]);
    expect(logs.written.join()).not.toMatch(/Acme|apik_/);
    expect(JSON.stringify(await Array.fromAsync(scan()))).not.toContain("apik_");
    expect(await Array.fromAsync(historyOf({ type: "account", id }))).toMatchObject([
      { type: "account.created", actor: { type: "operator", id: "local" }, request_id },
      { type: "account.updated", changed: ["name"] },
    ]);
  });

  it("returns all errors of a file as they are in the API, and writes nothing", async () => {
    const { output, error } = await invoke({
      Payload: '{"accounts": {"a": {"name": "A"}}, "orders": {"o": {"account": 7}, "p": {}}}',
    });
    const invalid = (pointer: string, sub_code: string, detail: string) =>
      invalidBody("body", pointer, { sub_code, detail }).errors;
    const errors = [
      ...invalid("/orders/o/account", "constraint.type", "must be a string"),
      ...invalid("/orders/p/account", "constraint.required", "can't be blank"),
    ];
    expect([error, output]).toEqual([undefined, { errors }]);
    expect(await apply("text")).toMatchObject({ errors: [{ source: { in: "body", pointer: "" } }] });
  });

  it("returns what was written, and an error, if a later transaction fails", async () => {
    const account = newId();
    const orders = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`o${n}`, { id: newId(), account }]));
    const taken = keys.accountOrder(account, orders.o59?.id ?? "");
    await transact({ taken: { put: { ...taken, id: "x" } } });
    const { errors, ...applied } = await apply({ accounts: { acme: { id: account, name: "Acme" } }, orders });
    expect(applied.accounts).toEqual({ acme: { id: account, status: "created" } });
    expect(Object.keys(applied.orders).length).toBeLessThan(60);
    const detail = expect.stringContaining("Apply it again to complete it");
    expect(errors).toEqual([{ code: "service_unavailable", title: "Service Unavailable", detail, sub_code: "none" }]);
    expect(logs.lines()).toMatchObject([{ level: "ERROR", created: 1 + Object.keys(applied.orders).length }]);
  });

  it.runIf(exhaustive)(
    "writes nothing if its result is too large to be returned, and returns up to 1,000 errors",
    async () => {
      const id = newId();
      const many = (count: number, name: string, entry: object) =>
        Object.fromEntries(Array.from({ length: count }, (_, n) => [n + name, entry]));
      const issued = many(19_000, "x".repeat(250), { account: "a", user: null });
      const { errors } = await apply({ accounts: { a: { id, name: "Acme" } }, keys: issued });
      expect(errors).toMatchObject([{ detail: "would return a result that is too large: apply it in parts" }]);
      expect(await get(keys.account(id))).toBeUndefined();
      const requests = many(3_000, "\0".repeat(250), {});
      expect((await apply({ requests, ["x".repeat(1_000_000)]: 1 })).errors).toHaveLength(1_000);
    },
  );

  it("divides what is larger than one transaction may be, with what it replaces", async () => {
    // These are more permissions than a file may have now.
    const permissions = Array.from({ length: 1_000 }, (_, n) => `${n}:`.padEnd(255, "x"));
    const ids = Array.from({ length: 18 }, () => newId());
    const account = newId();
    const user = { account, permissions, disabled: false, version: 1, updated_at: new Date().toISOString() };
    for (const id of ids) await transact({ user: { put: { ...keys.user(id), id, ...user } } });
    let transactions = 0;
    proxies.table.choose(({ operation }) => {
      if (operation === "TransactWriteItems") transactions += 1;
      return undefined;
    });
    const { users } = await apply({ users: Object.fromEntries(ids.map((id) => [id, { id, disabled: true }])) });
    expect(Object.values(users)).toEqual(ids.map((id) => expect.objectContaining({ id, status: "changed" })));
    expect(transactions).toBe(2);
  });

  it("does not advise to apply a file again that would fail again", async () => {
    const names = Array.from({ length: 40 }, (_, n) => `a${n}`);
    proxies.table.choose(({ operation }) => {
      if (operation === "TransactWriteItems") vi.stubEnv("TABLE_NAME", "lost-in-between");
      return undefined;
    });
    const { errors, accounts } = await apply({ accounts: Object.fromEntries(names.map((name) => [name, { name }])) });
    vi.unstubAllEnvs();
    expect(Object.keys(accounts)).toEqual(names.slice(0, 33));
    expect(errors).toEqual([expect.objectContaining({ code: "internal_error" })]);
    expect(logs.lines()).toMatchObject([{ error: { cause: { message: "Only a part of the file is applied." } } }]);
  });

  it("returns an error while DynamoDB is unavailable", async () => {
    proxies.table.choose(() => "status-503");
    const { error, output } = await invoke({ Payload: '{"accounts": {"a": {"name": "A"}}}' });
    expect([error, output]).toEqual([
      undefined,
      { errors: [expect.objectContaining({ code: "service_unavailable" })] },
    ]);
  });
});

describe("Invoke on one machine", () => {
  it.each([
    "patchbay-apply:$LATEST",
    "000000000000:function:patchbay-apply",
    "arn:aws:lambda:us-east-1:000000000000:function:patchbay-apply",
  ])("finds a function by %s", async (FunctionName) => {
    expect(await invoke({ FunctionName, Payload: "{}" })).toMatchObject({ status: 200, output: nothing });
  });

  it("only starts an Event, only checks a DryRun", async () => {
    const Payload = JSON.stringify({ accounts: { a: { name: "A" } } });
    expect(await invoke({ InvocationType: "DryRun", Payload })).toMatchObject({ status: 204, output: null });
    expect(await invoke({ InvocationType: "Event", Payload })).toMatchObject({ status: 202, output: null });
    await vi.waitFor(() => expect(logs.lines()).toMatchObject([{ created: 1 }]), 20_000);
  });

  it("refuses what Lambda refuses", async () => {
    await expect(invoke({ FunctionName: "other" })).rejects.toThrow(/^Function not found: other/);
    await expect(invoke({ Payload: "{" })).rejects.toMatchObject({ name: "InvalidRequestContentException" });
    const atMost = `"${"x".repeat(6_291_454)}"`;
    expect(await invoke({ Payload: atMost, InvocationType: "DryRun" })).toMatchObject({ status: 204 });
    await expect(invoke({ Payload: `${atMost} ` })).rejects.toMatchObject({ name: "RequestTooLargeException" });
    const { error, output } = await invoke({ FunctionName: "too-large" });
    expect([error, output.errorType]).toEqual(["Unhandled", "Function.ResponseSizeTooLarge"]);
  });
});
