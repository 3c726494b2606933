import { globSync, readFileSync } from "node:fs";
import { expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod/mini";
import { handler as sweep } from "../../../functions/sweep-orphan-files.ts";
import { countFailure, countOverdueRuns } from "../../../shared/checkout/metrics.ts";
import { stepHandler } from "../../../shared/checkout/step-handler.ts";
import { forwardStep } from "../../../shared/checkout/steps.ts";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { interceptTableCalls } from "../../support/fault-proxy/table-proxy.ts";
import { storeRun } from "../../support/fixtures/runs.ts";
import { textsOfResources } from "../../support/models/deployed-production.ts";
import { allowOnly } from "../../support/models/iam.ts";
import { captureLogs } from "../../support/servers/captured-logs.ts";

const capture = () => {
  const logs = captureLogs();
  onTestFinished(logs.stop);
  return logs;
};

it("the sweep counts the runs that are recorded as running for longer than a run can take", async () => {
  const at = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString();
  const runs = [
    { status: "RUNNING", started_at: at(8) },
    { status: "STOPPING", started_at: at(400) },
    { status: "RUNNING", started_at: at(7) },
    { status: "FAILED", started_at: at(8) },
    { status: "CRASHED", started_at: at(8) },
  ] as const;
  for (const [index, run] of runs.entries()) {
    const order = `overdue-${index}`;
    await storeRun(order, run);
    await transact({ open: { put: { ...keys.openCheckout(order), id: order } } });
  }
  allowOnly("sweep-orphan-files-role");
  const logs = capture();
  await sweep({}, { functionName: "sweep", getRemainingTimeInMillis: () => 60_000 });
  expect(logs.lines()).toMatchObject([
    { OverdueCheckouts: 2, FunctionName: "sweep" },
    { SweepsStopped: 0, FunctionName: "sweep" },
  ]);
});

it("the sweep reads the runs of open orders page by page, because those of failed checkouts stay open", async () => {
  const orders = Array.from({ length: 250 }, (_, index) => `open-${String(index).padStart(3, "0")}`);
  for (const some of [orders.slice(0, 100), orders.slice(100, 200), orders.slice(200)])
    await transact(Object.fromEntries(some.map((id) => [id, { put: { ...keys.openCheckout(id), id } }])));
  const calls: string[] = [];
  let inProgress = 0;
  const stop = interceptTableCalls(async ({ operation }, pass) => {
    inProgress += 1;
    calls.push(inProgress > 1 ? `${operation} at the same time` : operation);
    const response = await pass();
    inProgress -= 1;
    return response;
  });
  await countOverdueRuns(new Date());
  stop();
  expect(calls.slice(0, 5)).toEqual(["Query", "BatchGetItem", "Query", "BatchGetItem", "Query"]);
  expect(calls.join()).not.toContain("at the same time");
});

it("a failed checkout counts as a fault or as a refusal, by the stack's name", () => {
  const logs = capture();
  for (const kind of ["fault", "refused"] as const) countFailure({ order_id: "1", run: "r" }, kind);
  const metric = (Name: string) => ({
    CloudWatchMetrics: [{ Namespace: "Patchbay", Dimensions: [["stack"]], Metrics: [{ Name, Unit: "Count" }] }],
  });
  expect(logs.lines()).toMatchObject([
    { level: "ERROR", kind: "fault", stack: "local", FailedCheckouts: 1, _aws: metric("FailedCheckouts") },
    { level: "INFO", kind: "refused", stack: "local", RefusedCheckouts: 1, _aws: metric("RefusedCheckouts") },
  ]);
});

it("a wait counts if the checkout is an hour old at its end, whatever the log level", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-11-27T12:00:00Z") });
  onTestFinished(() => void vi.useRealTimers().unstubAllEnvs());
  const logs = capture();
  vi.stubEnv("LOG_LEVEL", "ERROR");
  const waiting = { next: "WAIT_TO_FORWARD", wait_seconds: 1_800 };
  const step = (output: object) => stepHandler(forwardStep, z.object({ order_id: z.string() }), async () => output);
  const input = (started_at: string) => ({ run: "r", started_at, state: { order_id: "1" } });
  await step(waiting)(input("2026-11-27T11:30:01.000Z"));
  await step({ next: "FORWARD" })(input("2026-11-27T01:00:00.000Z"));
  expect(logs.lines()).toEqual([]);
  await step(waiting)(input("2026-11-27T11:30:00.000Z"));
  const CloudWatchMetrics = [
    { Namespace: "Patchbay", Dimensions: [["stack"]], Metrics: [{ Name: "WaitingCheckouts", Unit: "Count" }] },
  ];
  const times = { started_at: "2026-11-27T11:30:00.000Z", next_try_at: "2026-11-27T12:30:00.000Z" };
  expect(logs.lines()).toMatchObject([
    { message: "checkout-waits", order_id: "1", run: "r", ...times, WaitingCheckouts: 1, _aws: { CloudWatchMetrics } },
  ]);
});

it("every metric of this project that raises an alarm is logged by the code", () => {
  const code = globSync("{functions,shared}/**/*.ts").map((file) => readFileSync(file, "utf8"));
  const watched = textsOfResources().flatMap((text) =>
    text.includes("\n  Namespace: Patchbay") ? [/^ {2}MetricName: (.*)$/m.exec(text)?.[1]] : [],
  );
  expect(watched.sort()).toEqual([
    "Defects",
    "FailedCheckouts",
    "OverdueCheckouts",
    "SweepsStopped",
    "SweepsUnfinished",
    "WaitingCheckouts",
  ]);
  for (const name of watched)
    expect(
      code.some((text) => text.includes(String(name))),
      name,
    ).toBe(true);
});
