import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { handler as releaseLock } from "../../functions/checkout/release-lock.ts";
import { handler as publish } from "../../functions/events/publish.ts";
import { handler as sweep } from "../../functions/sweep-orphan-files.ts";
import { handler as apply } from "../../functions/tenants/apply.ts";
import { handler as applyOrders } from "../../functions/tenants/apply-orders.ts";
import { newId } from "../../shared/schema/fields.ts";
import { createSwitchRoutes, showSwitchRoute } from "../../shared/switches/routes.ts";
import { orderWithOneAttachment } from "../support/fixtures/orders.ts";
import { invoke } from "../support/requests/event.ts";
import { captureLogs } from "../support/servers/captured-logs.ts";
import { carrier } from "../support/servers/carrier.ts";
import { proxies } from "../support/servers/own-table.ts";
import { checkOut, loadStep } from "../support/servers/workflow.ts";

const upstream = await carrier();
afterAll(() => upstream.close());

let logs: ReturnType<typeof captureLogs>;
beforeEach(() => {
  logs = captureLogs();
});
afterEach(() => {
  logs.stop();
  vi.unstubAllEnvs();
  proxies.table.choose(() => undefined);
});

const headers = { Authorization: `Bearer apik_${"0".repeat(43)}` };
const id = newId();
const context = { awsRequestId: "1", functionName: "sweep", getRemainingTimeInMillis: () => 10_000 };
const ended = { executionArn: "arn", name: "run", status: "FAILED", input: JSON.stringify({ order_id: id }) };
const image = {
  id: { S: "1" },
  type: { S: "switch.created" },
  at: { S: "2026-11-22T09:30:00.000Z" },
  account: { S: "1" },
  actor: { M: { type: { S: "operator" }, id: { S: "local" } } },
  resource: { M: { type: { S: "switch" }, id: { S: "1" }, version: { N: "1" } } },
  parent: { NULL: true },
  changed: { NULL: true },
  request_id: { NULL: true },
};
const batch = { Records: [{ dynamodb: { SequenceNumber: "1", NewImage: image } }] };

/** One call of each kind of function. */
const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  "an endpoint": () => invoke(showSwitchRoute, { headers, ids: { switch_id: id } }),
  "a step": async () =>
    loadStep("checkout/begin")?.({ run: "run", started_at: new Date().toISOString(), state: { order_id: id } }),
  apply: () => apply({ accounts: { a: { id, name: "A" } }, dry_run: true }, context),
  "apply-orders": () => applyOrders({ orders: { o: { id, account: id } }, dry_run: true }, context),
  "release-lock": () => releaseLock({ detail: ended }),
  "the sweep": () => sweep({}, context),
  "the publisher": () => publish(batch),
};

/** The log lines in which CloudWatch would count defects, each as "level stack count". */
const defectsDuring = async (act: () => Promise<unknown>) => {
  await act().catch(() => undefined);
  const metric = { Namespace: "Patchbay", Dimensions: [["stack"]], Metrics: [{ Name: "Defects", Unit: "Count" }] };
  const counted = logs.lines().filter(({ _aws, Defects }) => {
    const declared = JSON.stringify(_aws ?? null).includes(JSON.stringify(metric));
    if (declared !== (Defects !== undefined))
      throw new Error("A defect is counted without its metric, or the reverse.");
    return declared;
  });
  return counted.map(({ level, stack, Defects }) => `${level} ${stack} ${Defects}`);
};

describe("the metric Defects", () => {
  it.each(Object.entries(calls))("counts one for an exception that nobody else has caused: %s", async (_, run) => {
    vi.stubEnv("STACK_NAME", "Patchbay-production").stubEnv("LOG_LEVEL", "ERROR");
    for (const name of ["TABLE_NAME", "BUCKET_NAME", "EVENT_BUS_NAME"]) vi.stubEnv(name, "");
    expect(await defectsDuring(run)).toEqual(["ERROR Patchbay-production 1"]);
    expect(logs.written.join()).toContain('"stack":"Error: The environment variable ');
  });

  it.each(Object.entries(calls))(
    "does not count a throttled table, or a bus that is unavailable: %s",
    async (_, run) => {
      vi.stubEnv("EVENT_BUS_NAME", "bus").stubEnv("AWS_ENDPOINT_URL_EVENTBRIDGE", "http://127.0.0.1:1");
      proxies.table.choose(() => "throttle");
      expect(await defectsDuring(run)).toEqual([]);
      expect(logs.lines().map(({ level }) => level)).toContain("ERROR");
    },
  );

  it.each<[string, () => Promise<unknown>]>([
    ["a 401", () => invoke(showSwitchRoute, { headers })],
    ["a 4xx of a body", () => invoke(createSwitchRoutes.own, { headers, body: "{" })],
    ["an unknown order", () => checkOut(newId())],
    ["an id that is none", () => checkOut("order")],
    ["a file that is refused", () => apply({ accounts: { a: {} } }, context)],
    ["the end of an execution with any input", () => releaseLock({ detail: { ...ended, input: "[]" } })],
  ])("does not count what a caller can cause: %s", async (_, run) => {
    expect(await defectsDuring(run)).toEqual([]);
    expect(logs.lines().length).toBeGreaterThan(0);
  });

  it("does not count a document that the carrier refuses", async () => {
    const { id } = await orderWithOneAttachment();
    await upstream.misbehave({ method: "PUT", action: "status", status: 422 });
    expect(await defectsDuring(async () => expect(await checkOut(id)).toMatchObject({ status: "FAILED" }))).toEqual([]);
  });
});
