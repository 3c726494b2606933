import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { showSwitchRoute } from "../../shared/switches/routes.ts";
import { invoke } from "../support/requests/event.ts";
import { captureLogs } from "../support/servers/captured-logs.ts";
import { loadStep } from "../support/servers/workflow.ts";

let logs: ReturnType<typeof captureLogs>;
beforeAll(() => {
  logs = captureLogs();
});
afterAll(() => logs.stop());

const metrics = (dimension: string, ...others: object[]) => ({
  Timestamp: expect.any(Number),
  CloudWatchMetrics: [
    { Namespace: "Patchbay", Dimensions: [[dimension]], Metrics: [{ Name: "ms", Unit: "Milliseconds" }] },
    ...others,
  ],
});
const defects = { Namespace: "Patchbay", Dimensions: [["stack"]], Metrics: [{ Name: "Defects", Unit: "Count" }] };

/** The log lines that are written while `act` runs. */
const linesDuring = async (act: () => Promise<unknown>) => {
  const before = logs.written.length;
  await act();
  return logs.lines().slice(before);
};

describe("the log", () => {
  it("has one line for a request, which is also its metric", async () => {
    const [line, ...others] = await linesDuring(() => invoke(showSwitchRoute, {}));
    expect(others).toEqual([]);
    expect(line).toEqual({
      level: "INFO",
      message: "request",
      timestamp: expect.any(String),
      service: "patchbay",
      route: "switches/show",
      status: 401,
      request_id: expect.any(String),
      extended_request_id: expect.any(String),
      ms: expect.any(Number),
      path: {},
      _aws: metrics("route"),
    });
  });

  it("has one line for a step, with its error", async () => {
    const [line, ...others] = await linesDuring(async () => loadStep("checkout/lock")?.({}).catch(() => undefined));
    expect(others).toEqual([]);
    const counted = { _aws: metrics("step", defects), stack: "local", Defects: 1 };
    expect(line).toMatchObject({ level: "ERROR", message: "step", step: "checkout/lock", ...counted });
    expect(line.error.stack).toContain("step-handler.ts");
  });
});
