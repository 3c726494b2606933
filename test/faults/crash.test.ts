import { afterAll, describe, expect, it } from "vitest";
import { sweepOrphanFiles } from "../../shared/attachments/sweep.ts";
import type { Route } from "../../shared/route.ts";
import { routes } from "../../shared/routes.ts";
import { type Tenants, tenants } from "../support/fixtures/tenants.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import { crashChildren } from "../support/processes/crash-child.ts";
import { repeatableRequest } from "../support/requests/repeatable-request.ts";
import { proxies } from "../support/servers/own-table.ts";
import { byExtent, extent, sampleOf } from "../support/setup/extent.ts";

/**
 * Kills the process around each AWS call of each endpoint that writes. Before the call, it is never made. After the call, its
 * response is lost. Covers the writes, and with --full also the reads.
 */

const ownServiceUrl = process.env.PATCHBAY_URL ?? "";
const children = crashChildren();
/** A sample has every third endpoint that writes. */
const writing = sampleOf(
  routes.filter(({ method }) => method !== "GET"),
  byExtent({ sample: 3, most: 1, all: 1 }),
);
const isWrite = /^(TransactWriteItems|UpdateItem|PutItem|PutObject|DeleteObject)$/;
const moments = ["before", "after"] as const;
const inTwoDays = () => new Date(Date.now() + 2 * 86_400_000);

type Point = { readonly nth: number; readonly operation: string; readonly moment: (typeof moments)[number] };
type FaultProxy = (typeof proxies)["table"];
const both: readonly FaultProxy[] = [proxies.table, proxies.files];

/** Calls `at` before and after each AWS call. Calls to the table and the bucket are numbered together. */
const watch = (at: (point: Point) => Promise<void>) => {
  const counted = new Map<object, number>();
  for (const proxy of both)
    proxy.watch(async (call, moment) => {
      const nth = counted.get(call) ?? counted.size + 1;
      counted.set(call, nth);
      await at({ nth, operation: call.operation, moment });
    });
};

const unwatch = () => {
  for (const proxy of both) proxy.watch(async () => {});
};

/** The points at which an undisturbed request can be killed. */
const pointsOf = async (t: Tenants, route: Route): Promise<Point[]> => {
  const run = await repeatableRequest(t, route);
  const points: Point[] = [];
  watch(async (point) => void points.push(point));
  const { status } = await run.send();
  unwatch();
  expect(status).toBe(route.status);
  return points.filter(({ operation }) => extent === "all" || isWrite.test(operation)).sort((a, b) => a.nth - b.nth);
};

/** Runs an endpoint in a process that is killed at this point. Returns whether the process was killed. */
const crash = async (send: () => Promise<unknown>, { nth, moment }: Point): Promise<boolean> => {
  const { url, kill } = await children.take();
  let killed = false;
  watch(async (point) => {
    if (point.nth < nth || (point.nth === nth && point.moment !== moment && moment === "after")) return;
    killed = true;
    await kill();
    throw new Error("the process was killed");
  });
  process.env.PATCHBAY_URL = url;
  await send().catch(() => undefined);
  process.env.PATCHBAY_URL = ownServiceUrl;
  unwatch();
  if (!killed) await kill();
  return killed;
};

const failures = async (t: Tenants, route: Route, point: Point): Promise<string[]> => {
  const run = await repeatableRequest(t, route);
  const killed = await crash(run.send, point);
  const violated = (await checkInvariants(new Date())).filter(({ level }) => level === "violation");
  const ofUpload = route.on === "upload";
  // A direct upload may still be completed, so it is swept as of today, which keeps its file.
  await sweepOrphanFiles({ now: ofUpload ? new Date() : inTwoDays(), all: true });
  const swept = ofUpload ? [] : await checkInvariants(inTwoDays());
  const { status, text } = await run.send();
  const repeated = status === route.status || (route.operation === "delete" && status === 404);
  const named = await run.countNamed();
  const after = await checkInvariants(inTwoDays());
  return [
    killed ? "" : "the process was not killed",
    repeated ? "" : `the retry returned ${status} ${text}`,
    named === (route.operation === "delete" ? 0 : 1) ? "" : `${named} of the resource exist`,
    route.operation === "delete" && (await run.countRemaining()) > 0 ? "the deleted resource still exists" : "",
    ...[...violated, ...swept, ...after].map(({ rule, at, detail }) => `${rule}: ${at}: ${detail}`),
  ].filter(Boolean);
};

/** The stride is odd, so that a sample has points of both moments. */
const stride = byExtent({ sample: 5, most: 1, all: 1 });
let index = 0;

afterAll(children.end);

describe("an endpoint that is killed before or after an AWS call leaves only what the sweep repairs, and can be retried", () => {
  it.each(writing.map((route) => [route.name, route] as const))("%s", { timeout: 300_000 }, async (_, route) => {
    const t = await tenants();
    const broken: string[] = [];
    const allPoints = await pointsOf(t, route);
    const points = allPoints.filter(() => index++ % stride === 0);
    for (const point of points) {
      const found = await failures(t, route, point);
      if (found.length > 0) broken.push(`${point.moment} call ${point.nth}, ${point.operation}: ${found.join("; ")}`);
    }
    expect(allPoints.length).toBeGreaterThan(1);
    expect(broken).toEqual([]);
  });
});
