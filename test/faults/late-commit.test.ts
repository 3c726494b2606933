import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import type { Route } from "../../shared/route.ts";
import { routes } from "../../shared/routes.ts";
import type { ProxiedCall } from "../support/fault-proxy/proxy.ts";
import { form, upload } from "../support/fixtures/attachments.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import { call, send } from "../support/requests/client.ts";
import { dataOf, parentId, repeatableRequest, resourceFor } from "../support/requests/repeatable-request.ts";
import { requestTo } from "../support/requests/request-per-endpoint.ts";
import { proxies } from "../support/servers/own-table.ts";
import { byExtent, sampleOf } from "../support/setup/extent.ts";

/**
 * A write can commit after its client has timed out. Here, the SDK's second attempt is refused with a conflict, the first one
 * commits, and the third attempt, with the same request token, succeeds.
 */

const isWrite = ({ operation }: ProxiedCall) => operation === "TransactWriteItems";

/**
 * Aborts the first attempt of a write at once, but delays it at the proxy until `until` (by default the second attempt), and
 * each attempt from the third on until the first has ended. Uses no timeout, which could end other calls on a slow table.
 */
const delayFirstAttempt = ({ until, refuseSecond }: { until?: Promise<unknown>; refuseSecond: boolean }) => {
  const attempts: ProxiedCall[] = [];
  const second = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  proxies.table.choose((sent) => {
    if (!isWrite(sent)) return undefined;
    attempts.push(sent);
    if (attempts.length !== 2) return undefined;
    second.resolve();
    return refuseSecond ? "conflict" : undefined;
  });
  proxies.table.watch(async (sent, moment) => {
    if (sent === attempts[0] && moment === "before") {
      sent.abandon();
      await (until ?? second.promise);
    }
    if (sent === attempts[0] && moment === "after") ended.resolve();
    if (attempts.indexOf(sent) >= 2 && moment === "before") await ended.promise;
  });
  return attempts;
};

const stopInterfering = () => {
  proxies.table.choose(() => undefined);
  proxies.table.watch(async () => {});
};

const t = await tenants();
afterEach(stopInterfering);

const writing = routes.filter(({ operation }) => ["create", "update", "delete"].includes(operation));
const creating = writing.filter(({ operation }) => operation === "create");
/** A sample has every second route. */
const named = (of: readonly Route[]) =>
  sampleOf(of, byExtent({ sample: 2, most: 1, all: 1 })).map((each) => [each.name, each] as const);

/** A creation without an Idempotency-Key. */
const plainCreation = async (route: Route) => {
  const name = randomUUID();
  const own = { parent: parentId(t, route), resource: await resourceFor(t, route, name) };
  return requestTo(route, { key: t.key("acme"), ...own, data: dataOf(route, name) });
};

describe("a write that commits after its client timed out succeeds", () => {
  it.each(named(writing))("%s", async (_, route) => {
    const run = await repeatableRequest(t, route, route.operation === "create" ? {} : { "if-match": '"1"' });
    const attempts = delayFirstAttempt({ refuseSecond: true });
    const { status } = await run.send();
    expect([status, attempts.length]).toEqual([route.status, 3]);
    stopInterfering();
    expect([await run.countNamed(), await run.countRemaining()]).toEqual(
      route.operation === "delete" ? [0, 0] : [1, expect.any(Number)],
    );
    expect(await checkInvariants(new Date())).toEqual([]);
  });

  it.each(named(creating))("%s, without an Idempotency-Key", async (_, each) => {
    const request = await plainCreation(each);
    delayFirstAttempt({ refuseSecond: true });
    const { status } = await send(request);
    stopInterfering();
    expect(status).toBe(201);
    expect(await checkInvariants(new Date())).toEqual([]);
  });
});

it("an upload that is refused while an attempt of it is still in flight keeps its file in case that attempt commits", async () => {
  const own = await tenants();
  const [path, key] = [own.attachments("request", "acme"), own.key("acme")];
  const reference = randomUUID();
  const conflicting = await upload(path, key, { "data[reference_id]": reference });
  const removed = Promise.withResolvers<void>();
  delayFirstAttempt({ until: removed.promise, refuseSecond: false });
  const { status } = await call("POST", path, { key, body: form({ "data[reference_id]": reference }) });
  proxies.table.choose(() => undefined);
  expect(status).toBe(422);
  expect((await call("DELETE", `${path}/${conflicting.id}`, { key })).status).toBe(200);
  removed.resolve();
  await proxies.table.idle();
  const { body } = await call("GET", path, { key });
  expect(body).toMatchObject({ data: { page_info: { total: 1 } } });
  expect((await checkInvariants(new Date())).filter(({ level }) => level === "violation")).toEqual([]);
});

const changes = [
  ["an attachment of a request", "request-attachments/update", "name"],
  ["an attachment of an order", "order-attachments/update", "name"],
  ["a switch", "switches/update", "sms_identity"],
  ["a switch's name", "switches/update", "name"],
] as const;

const cases = changes.flatMap(([what, route, property]) =>
  [1, 7].flatMap((others) =>
    [true, false].map((ifMatch) => ({ what, route, property, others, ifMatch, with: ifMatch ? "with" : "without" })),
  ),
);
// A sample has each resource, with and without If-Match, with few and with many writes in between.
it.each(sampleOf(cases, byExtent({ sample: 5, most: 1, all: 1 })))(
  "a PATCH whose response is lost and that other PATCHes follow before its retry changes $what once, $with If-Match, with $others writes in between",
  async (given) => {
    const { property, others, ifMatch } = given;
    const route = writing.find(({ name }) => name === given.route);
    if (!route) throw new Error(`there is no route ${given.route}`);
    const { path } = await repeatableRequest(t, route);
    const key = t.key("acme");
    const change = (value: string, headers = {}) =>
      call("PATCH", path, { key, headers, json: { type: route.resource, data: { [property]: value } } });
    // The name of a switch must be unique in its account.
    const uniqueName = randomUUID();
    const othersDone = Promise.withResolvers<void>();
    proxies.table.arm({ kind: "lose-response", operation: /TransactWriteItems/ });
    proxies.table.watch(async ({ fault }, moment) => {
      if (fault !== "lose-response" || moment === "before") return;
      for (let n = 1; n <= others; n += 1) expect((await change(`${uniqueName} ${n}`)).status).toBe(200);
      othersDone.resolve();
    });
    const first = await change(`${uniqueName} first`, ifMatch ? { "if-match": '"1"' } : {});
    expect([first.status, first.headers.get("etag")]).toEqual([200, '"2"']);
    expect(first.body).toMatchObject({ data: { [property]: `${uniqueName} first` } });
    await othersDone.promise;
    const now = await call("GET", path, { key });
    expect(now.body).toMatchObject({ data: { [property]: `${uniqueName} ${others}` } });
    expect(now.headers.get("etag")).toBe(`"${others + 2}"`);
  },
);
