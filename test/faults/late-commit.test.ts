import { randomUUID } from "node:crypto";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { checkInvariants } from "../../infra/admin/invariants.ts";
import { type Route, routes } from "../../shared/routes.ts";
import type { WireCall } from "../support/fault-proxy/proxy.ts";
import { atTableDoor } from "../support/fault-proxy/table-proxy.ts";
import { shortenTimeouts } from "../support/fault-proxy/timeouts.ts";
import { form, upload } from "../support/fixtures/attachments.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { call } from "../support/requests/client.ts";
import { bodyOf, prepare, type Tenants } from "../support/requests/endpoints.ts";
import { startAfresh, wires } from "../support/servers/own-stack.ts";

/**
 * A write that arrives after its client has given up on it: the SDK's second attempt is refused with a conflict, the
 * first one commits, and the next attempt finds what the first one wrote.
 */

const isWrite = ({ operation }: WireCall) => /^(TransactWriteItems|UpdateItem)$/.test(operation);

/** Holds the first attempt of a write back until `until`, and each attempt from the third on until the first has ended. */
const delayFirstAttempt = (until: Promise<unknown> | undefined, refuseSecond: boolean) => {
  const attempts: WireCall[] = [];
  const second = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  wires.table.choose((sent) => {
    if (!isWrite(sent)) return undefined;
    attempts.push(sent);
    if (attempts.length !== 2) return undefined;
    second.resolve();
    return refuseSecond ? "conflict" : undefined;
  });
  wires.table.watch(async (sent, moment) => {
    if (sent === attempts[0] && moment === "before") await (until ?? second.promise);
    if (sent === attempts[0] && moment === "after") ended.resolve();
    if (attempts.indexOf(sent) >= 2 && moment === "before") await ended.promise;
  });
  return attempts;
};

const undisturbed = () => {
  wires.table.choose(() => undefined);
  wires.table.watch(async () => {});
};

const violations = async () => (await checkInvariants(new Date())).filter(({ level }) => level === "violation");

let t: Tenants;
beforeAll(() => shortenTimeouts(150));
beforeEach(async () => {
  await startAfresh();
  t = await tenants();
});
afterEach(undisturbed);

const writing = routes.filter(({ operation }) => ["create", "update", "delete"].includes(operation));
const creating = writing.filter(({ operation }) => operation === "create");
const named = (of: readonly Route[]) => of.map((route) => [route.name, route] as const);

describe("a write that commits late is a success", () => {
  it.each(named(writing))("%s", async (_, route) => {
    const run = await prepare(t, route, route.operation === "create" ? {} : { "if-match": '"1"' });
    const attempts = delayFirstAttempt(undefined, true);
    const { status } = await run.send();
    expect([status, attempts.length]).toEqual([route.status, 3]);
    undisturbed();
    expect([await run.made(), await run.left()]).toEqual(
      route.operation === "delete" ? [0, 0] : [1, expect.any(Number)],
    );
    expect(await checkInvariants(new Date())).toEqual([]);
  });

  it.each(named(creating))("%s, without an Idempotency-Key", async (_, route) => {
    const { path } = await prepare(t, route);
    const name = randomUUID();
    delayFirstAttempt(undefined, true);
    const { status } = await call("POST", path, { key: t.key("acme"), ...bodyOf(route, name, name) });
    undisturbed();
    expect(status).toBe(201);
    expect(await checkInvariants(new Date())).toEqual([]);
  });

  it.each(named(creating))("%s, where the table no longer knows the token", async (_, route) => {
    const { path } = await prepare(t, route);
    const name = randomUUID();
    delayFirstAttempt(undefined, true);
    const remove = atTableDoor(({ rewrite }, pass) => {
      rewrite({ ClientRequestToken: randomUUID() });
      return pass();
    });
    const body = bodyOf(route, name, name);
    const { status } = await call("POST", path, { key: t.key("acme"), ...body }).finally(remove);
    undisturbed();
    expect(status).toBe(201);
    expect(await checkInvariants(new Date())).toEqual([]);
  });
});

describe("an upload that is refused while an attempt of it is still on its way", () => {
  it("keeps its file, in case that attempt commits", async () => {
    const [path, key] = [t.attachments("request", "acme"), t.key("acme")];
    const reference = randomUUID();
    const inTheWay = await upload(path, key, { "data[reference_id]": reference });
    const removed = Promise.withResolvers<void>();
    delayFirstAttempt(removed.promise, false);
    const { status } = await call("POST", path, { key, body: form({ "data[reference_id]": reference }) });
    wires.table.choose(() => undefined);
    expect(status).toBe(422);
    expect((await call("DELETE", `${path}/${inTheWay.id}`, { key })).status).toBe(200);
    removed.resolve();
    await wires.table.idle();
    const { body } = await call("GET", path, { key });
    expect(body).toMatchObject({ data: { page_info: { total: 1 } } });
    expect(await violations()).toEqual([]);
  });
});
