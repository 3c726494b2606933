import { beforeAll, expect, it } from "vitest";
import { sweepOrphanFiles } from "../../shared/attachments/sweep.ts";
import type { Route } from "../../shared/route.ts";
import { routes } from "../../shared/routes.ts";
import { type FaultKind, faultKinds } from "../support/fault-proxy/proxy.ts";
import { configuredTimeouts, replaceTimeouts } from "../support/fault-proxy/timeouts.ts";
import { type Tenants, tenants } from "../support/fixtures/tenants.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import type { ReceivedResponse } from "../support/requests/client.ts";
import { repeatableRequest } from "../support/requests/repeatable-request.ts";
import { proxies, shortTimeoutMs, startOnNewTable } from "../support/servers/own-table.ts";
import { byExtent, sampleOf } from "../support/setup/extent.ts";

/**
 * Injects every kind of fault into each AWS call of each endpoint, once and on every retry. The calls are recorded from an
 * undisturbed request, so that a new call is included.
 */

/** Takes every nth fault. The stride is coprime to the number of kinds, so that a sample has each kind. */
const stride = byExtent({ sample: 61, most: 43, all: 1 });

/** A sample has every third route. */
const sampledRoutes = sampleOf(routes, byExtent({ sample: 3, most: 1, all: 1 }));

type ProxyName = keyof typeof proxies;
type RecordedCall = { readonly proxy: ProxyName; readonly operation: string; readonly nth: number };
type CallFault = RecordedCall & { readonly kind: FaultKind; readonly times: number; readonly ifMatch: boolean };

const proxyNames: readonly ProxyName[] = ["table", "files"];
const disarm = () => proxyNames.map((name) => proxies[name].arm());

const day = 86_400_000;

/** Timeouts are short only for delayed calls, since on a busy machine other calls may be slow. */
const longTimeoutMs = 5_000;
let timeoutMs = longTimeoutMs;

/** The AWS calls of one request without faults. */
const recordOnce = async (t: Tenants, route: Route): Promise<RecordedCall[]> => {
  const { send } = await repeatableRequest(t, route);
  disarm();
  expect((await send()).status).toBe(route.status);
  return proxyNames.flatMap((proxy) => {
    const operations = proxies[proxy].calls.map(({ operation }) => operation);
    return operations.map((operation, index) => {
      const nth = operations.slice(0, index + 1).filter((other) => other === operation).length;
      return { proxy, operation, nth };
    });
  });
};

const nameOf = ({ proxy, operation, nth }: RecordedCall) => `${proxy} ${operation} ${nth}`;

/**
 * The AWS calls of a request without faults. Records until two recordings agree, because on a busy machine, a call that an earlier
 * request has given up may arrive late.
 */
const record = async (t: Tenants, route: Route): Promise<RecordedCall[]> => {
  const recordings = new Set<string>();
  for (;;) {
    const calls = await recordOnce(t, route);
    const names = calls.map(nameOf).sort().join();
    if (recordings.has(names)) return calls;
    recordings.add(names);
  }
};

const canConflict = /^(TransactWriteItems|UpdateItem|PutItem)$/;

const faultsOf = ({ method }: Route, calls: readonly RecordedCall[]): CallFault[] =>
  calls.flatMap((call) =>
    faultKinds
      .filter((kind) => kind !== "conflict" || canConflict.test(call.operation))
      .flatMap((kind) => [1, 99].map((times) => ({ ...call, kind, times })))
      .flatMap((fault) =>
        (/PATCH|DELETE/.test(method) ? [true, false] : [false]).map((ifMatch) => ({ ...fault, ifMatch })),
      ),
  );

/** Whether a retry succeeded. After a lost response, a DELETE may return 404, and a PATCH with If-Match 412. */
const retrySucceeded = (route: Route, ifMatch: boolean, wasDone: boolean, status: number): boolean =>
  status === route.status ||
  (wasDone && route.operation === "delete" && status === 404) ||
  (wasDone && route.operation === "update" && ifMatch && status === 412);

/** Whether a response is the success, or a 503 with Retry-After. */
const isDocumented = (route: Route, { status, headers, body }: ReceivedResponse): boolean => {
  if (status === route.status) return true;
  if (status !== 503 || !/^\d+$/.test(headers.get("retry-after") ?? "")) return false;
  expect(body).toMatchObject({ errors: [{ code: "service_unavailable", sub_code: "none" }] });
  return true;
};

/** Runs an endpoint with one fault, then again without it. Returns what went wrong. */
const failures = async (t: Tenants, route: Route, { proxy, ifMatch, ...fault }: CallFault): Promise<string[]> => {
  const run = await repeatableRequest(t, route, ifMatch ? { "if-match": '"1"' } : {});
  disarm();
  proxies[proxy].arm({ ...fault, operation: new RegExp(`^${fault.operation}$`) });
  timeoutMs = /^(delay|late)$/.test(fault.kind) ? shortTimeoutMs : longTimeoutMs;
  const first = await run.send();
  timeoutMs = longTimeoutMs;
  const wasInjected = proxies[proxy].calls.some((call) => call.fault === fault.kind);
  if (fault.kind === "late") await proxies[proxy].idle();
  disarm();
  const wasDone = route.operation === "delete" ? (await run.countRemaining()) === 0 : (await run.countNamed()) === 1;
  const second = await run.send();
  const expected = route.operation === "create" || route.operation === "update" ? 1 : 0;
  const violated = (await checkInvariants(new Date())).filter(({ level }) => level === "violation");
  const [created, left] = [await run.countNamed(), await run.countRemaining()];
  return [
    wasInjected ? "" : "the fault was not injected",
    isDocumented(route, first) ? "" : `it returned ${first.status} ${first.text}`,
    retrySucceeded(route, ifMatch, wasDone, second.status) ? "" : `the retry returned ${second.status} ${second.text}`,
    created === expected ? "" : `${created} of the resource exist`,
    route.operation === "delete" && left > 0 ? "the deleted resource still exists" : "",
    ...violated.map(({ rule, at, detail }) => `${rule}: ${at}: ${detail}`),
  ].filter(Boolean);
};

let index = 0;

// deadline.test.ts tests requests with the configured timeouts.
beforeAll(() => void replaceTimeouts(() => timeoutMs));

it.each(sampledRoutes.map((route) => [route.name, route] as const))(
  "an endpoint returns a documented response under every fault of every AWS call, and a retry succeeds %s",
  { timeout: 1_800_000 },
  async (_, route) => {
    await startOnNewTable();
    const t = await tenants();
    const calls = await record(t, route);
    const faults = faultsOf(route, calls).filter(() => index++ % stride === 0);
    const broken: string[] = [];
    for (const fault of faults) {
      const found = await failures(t, route, fault);
      const { kind, operation, nth, times, ifMatch } = fault;
      const called = `${kind} x${times} at ${operation} ${nth}${ifMatch ? " with If-Match" : ""}`;
      if (found.length > 0) broken.push(`${called}: ${found.join("; ")}`);
    }
    expect(broken, broken.join("\n")).toEqual([]);
    const now = new Date(Date.now() + 2 * day);
    await sweepOrphanFiles({ now });
    expect(await checkInvariants(now)).toEqual([]);
  },
);

it("the AWS clients have our own timeouts and number of attempts instead of the SDK's defaults", async () => {
  for (const [name, operation] of [
    ["table", "GetItem"],
    ["files", "ListObjectsV2"],
  ] as const) {
    proxies[name].arm({ kind: "status-500", operation: new RegExp(operation), times: 99 });
    await expect(sweepOrphanFiles({ now: new Date() })).rejects.toMatchObject({ status: 503 });
    expect(proxies[name].calls, name).toHaveLength(3);
    disarm();
  }
  const timeouts = proxyNames.map((name) => configuredTimeouts.get(Number(new URL(proxies[name].url).port)));
  expect(timeouts).toMatchObject([
    { connectionTimeout: 2_000, requestTimeout: 2_500, throwOnRequestTimeout: true },
    { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
  ]);
});
