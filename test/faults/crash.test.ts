import { afterAll, describe, expect, it } from "vitest";
import { checkInvariants } from "../../infra/admin/invariants.ts";
import { sweepOrphanFiles } from "../../shared/attachments/sweep.ts";
import { type Tenants, tenants } from "../support/fixtures/tenants.ts";
import { crashChildren } from "../support/processes/crash-child.ts";
import { repeatableRequest, type Writing, writings } from "../support/requests/repeatable-request.ts";
import { wires } from "../support/servers/own-table.ts";
import { byExtent, extent } from "../support/setup/extent.ts";

/**
 * The process is killed before and after each AWS call of each endpoint that writes: before, and the call is never
 * made; after, and it is, but nobody hears of it. Around the writes, with --full around the reads too; `npm test` takes one
 * point in five.
 */

const here = process.env.PATCHBAY_URL ?? "";
const children = crashChildren();
const all = writings.filter(({ route }) => route.method !== "GET");
const isWrite = /^(TransactWriteItems|UpdateItem|PutItem|PutObject|DeleteObject)$/;
const moments = ["before", "after"] as const;
const nextWeek = () => new Date(Date.now() + 7 * 86_400_000);

type Point = { readonly nth: number; readonly operation: string; readonly moment: (typeof moments)[number] };
type Wire = (typeof wires)["table"];
const both: readonly Wire[] = [wires.table, wires.files];

/** Calls this at each moment of each AWS call, counted over table and bucket together. */
const watch = (at: (point: Point) => Promise<void>) => {
  const counted = new Map<object, number>();
  for (const wire of both)
    wire.watch(async (call, moment) => {
      const nth = counted.get(call) ?? counted.size + 1;
      counted.set(call, nth);
      await at({ nth, operation: call.operation, moment });
    });
};

const unwatch = () => {
  for (const wire of both) wire.watch(async () => {});
};

/** The moments at which a plain run can be killed. */
const pointsOf = async (t: Tenants, writing: Writing): Promise<Point[]> => {
  const run = await repeatableRequest(t, writing);
  const points: Point[] = [];
  watch(async (point) => void points.push(point));
  const { status } = await run.send();
  unwatch();
  expect(status).toBe(writing.route.status);
  return points.filter(({ operation }) => extent === "all" || isWrite.test(operation)).sort((a, b) => a.nth - b.nth);
};

/** Runs an endpoint in a process that is killed at this point; whether it was. */
const crash = async (send: () => Promise<unknown>, { nth, moment }: Point): Promise<boolean> => {
  const { url, kill } = await children.take();
  let killed = false;
  watch(async (point) => {
    if (point.nth < nth || (point.nth === nth && point.moment !== moment && moment === "after")) return;
    killed = true;
    await kill();
    throw new Error("nobody is there any more");
  });
  process.env.PATCHBAY_URL = url;
  await send().catch(() => undefined);
  process.env.PATCHBAY_URL = here;
  unwatch();
  if (!killed) await kill();
  return killed;
};

const failures = async (t: Tenants, writing: Writing, point: Point): Promise<string[]> => {
  const { route } = writing;
  const run = await repeatableRequest(t, writing);
  const killed = await crash(run.send, point);
  const violated = (await checkInvariants(new Date())).filter(({ level }) => level === "violation");
  // The file of an upload waits to be claimed: a sweep leaves it for longer than it can be.
  await sweepOrphanFiles({ now: writing.fromUpload ? new Date() : nextWeek(), all: true });
  const swept = writing.fromUpload ? [] : await checkInvariants(nextWeek());
  const { status, text } = await run.send();
  const repeated = status === route.status || (route.operation === "delete" && status === 404);
  const named = await run.named();
  const after = await checkInvariants(nextWeek());
  return [
    killed ? "" : "it was not killed",
    repeated ? "" : `repeating it answered ${status} ${text}`,
    named === (route.operation === "delete" ? 0 : 1) ? "" : `${named} of it exist`,
    route.operation === "delete" && (await run.left()) > 0 ? "it is still there" : "",
    ...[...violated, ...swept, ...after].map(({ rule, at, detail }) => `${rule}: ${at}: ${detail}`),
  ].filter(Boolean);
};

/** Odd, so that each endpoint is killed before some call and after another. */
const stride = byExtent({ sample: 5, most: 1, all: 1 });
let index = 0;

const tried: { endpoint: string; crashes: number; held: number }[] = [];

afterAll(async () => {
  await children.end();
  const sum = (of: "crashes" | "held") => tried.reduce((all, row) => all + row[of], 0);
  console.table([...tried, { endpoint: "all", crashes: sum("crashes"), held: sum("held") }]);
});

describe("killed before or after an AWS call, an endpoint leaves nothing that the sweep does not mend, and can be repeated", () => {
  it.each(all.map((writing) => [writing.name, writing] as const))("%s", { timeout: 300_000 }, async (_, writing) => {
    const t = await tenants();
    const broken: string[] = [];
    const every = await pointsOf(t, writing);
    const points = every.filter(() => index++ % stride === 0);
    for (const point of points) {
      const found = await failures(t, writing, point);
      if (found.length > 0) broken.push(`${point.moment} call ${point.nth}, ${point.operation}: ${found.join("; ")}`);
    }
    tried.push({ endpoint: writing.name, crashes: points.length, held: points.length - broken.length });
    expect(every.length).toBeGreaterThan(1);
    expect(broken).toEqual([]);
  });
});
