import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { longestRetryAfterSeconds } from "../../../shared/checkout/carrier-client.ts";
import { callTimeoutMs, limits, longestCallMs } from "../../../shared/checkout/limits.ts";
import { submit } from "../../../shared/checkout/steps.ts";
import { interceptTableCalls } from "../../support/fault-proxy/table-proxy.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { add } from "../../support/fixtures/tenants.ts";
import { type State, workflow } from "../../support/models/workflow-file.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, stateOf } from "../../support/servers/workflow.ts";
import { byExtent, extent } from "../../support/setup/extent.ts";

/** Step Functions' own. Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html */
const mostEvents = 25_000;
const mostState = 256 * 1024;
/** Of an error's cause. Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TaskFailedEventDetails.html */
const longestCause = 32_768;

/** Of an upload that goes to storage directly. */
const largestFile = 104_857_600;

const { ForwardPages, ...outer } = workflow.States;
const inner = ForwardPages?.ItemProcessor?.States ?? {};

/** A task is entered, scheduled, started, done and exited; each retry is one more failed, scheduled and started. */
const eventsOf = ({ Type, Retry = [] }: State): number =>
  Type === "Task" ? 5 + 3 * Retry.reduce((sum, { MaxAttempts }) => sum + MaxAttempts, 0) : 2;

const sum = (states: Record<string, State>, ...names: readonly string[]) =>
  names.reduce((total, name) => {
    const state = states[name];
    if (!state) throw new Error(`There is no state ${name}.`);
    return total + eventsOf(state);
  }, 0);

/** Everything fails as often as it may before it works, and every loop of every page and every round is used up. */
const worstCase = () => {
  const waiting = sum(inner, "Forward", "Forwarded", "WaitForCarrier");
  const sealing = sum(inner, "Forward", "Forwarded", "SealRequests", "RequestsSealed");
  const loops = limits.pages * limits.loops * Math.max(waiting, sealing);
  // An iteration is started and succeeds; a Map is entered, started, done and exited.
  const pageEnds = limits.pages * (2 + sum(inner, "PageFailed", "PageEnded"));
  const rounds = limits.loops * (pageEnds + 4 + sum(outer, "Gather", "Close", "Closed"));
  const submits = (limits.waits + 1) * sum(outer, "Submit", "Submitted", "WaitToSubmit");
  const ends = 2 + sum(outer, "Start", "Load", "Loaded", "WaitForOldCalls", "Finish", "Fail", "Failed", "Done");
  return loops + rounds + submits + ends;
};

const taskSeconds = (name: string) => inner[name]?.TimeoutSeconds ?? Number.NaN;

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterAll(() => upstream.close());

describe("Step Functions' limits", () => {
  it("are kept by the history of the longest execution that there can be", () => {
    console.log(`history: at most ${worstCase()} events of ${mostEvents}`);
    expect(worstCase()).toBeLessThan(mostEvents);
  });

  it("leave the longest execution time for every wait that a carrier may ask for", () => {
    const waits = (limits.loops + limits.waits) * longestRetryAfterSeconds;
    const work = limits.loops * (taskSeconds("Forward") + taskSeconds("SealRequests"));
    expect(waits + work).toBeLessThan(workflow.TimeoutSeconds);
    expect(limits.longestRunMs).toBeGreaterThan(workflow.TimeoutSeconds * 1000);
  });

  it("and Lambda's leave a step time for the largest file, begun as late as may be, with all its tries", () => {
    const step = taskSeconds("Forward") * 1000;
    // Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    expect(step).toBeLessThanOrEqual(900_000);
    vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
    expect(limits.workMs + longestCallMs(largestFile)).toBeLessThan(step - 30_000);
    expect(longestCallMs(0)).toBeLessThan(limits.graceSeconds * 1000);
    expect(longestCallMs(0)).toBeLessThan(submit.timeoutSeconds * 1000);
    expect(callTimeoutMs(largestFile)).toBeGreaterThan(callTimeoutMs(0) + 100_000);
    vi.unstubAllEnvs();
  });

  it("are kept by an order that never comes to rest, which ends its run and says why", async () => {
    const order = await newOrder(add);
    const changes = Array.from({ length: limits.loops + 5 }, () => () => order.attach(0));
    const run = await checkOut(order.id, { before: { "checkout/seal": changes } });
    expect(run).toMatchObject({ status: "FAILED", cause: expect.stringContaining("keep changing: try again later") });
    expect(run.called.filter((name) => name === "checkout/forward").length).toBe(limits.loops);
    expect(await stateOf(order.id)).toMatchObject({ state: "CART", run: "FAILED", seals: 0 });
    expect((await upstream.cart(order.id)).checked_out).toBe(false);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect((await upstream.held(order.id)).length).toBe(limits.loops);
  });

  it.runIf(extent !== "sample")(
    "are kept by an order whose own attachments never come to rest",
    async () => {
      const order = await newOrder(add);
      const changes = Array.from({ length: limits.loops + 5 }, () => () => order.attach("order"));
      const run = await checkOut(order.id, { before: { "checkout/close": changes } });
      expect(run.cause).toBe("The attachments of the order keep changing: try again later.");
      expect(run.called.filter((name) => name === "checkout/gather").length).toBe(limits.loops);
      expect(await stateOf(order.id)).toMatchObject({ state: "CART", run: "FAILED", seals: 0 });
      expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
      expect((await upstream.held(order.id)).length).toBe(limits.loops);
    },
    60_000,
  );
});

const requests = byExtent({ sample: 50, most: 200, all: 200 });

describe(`an order of ${requests} requests`, () => {
  it("keeps its state and its transactions small", async () => {
    const order = await newOrder(...Array.from({ length: requests }, () => add));
    let mostWrites = 0;
    const leave = interceptTableCalls((call, pass) => {
      mostWrites = Math.max(mostWrites, call.input.TransactItems?.length ?? 0);
      return pass();
    });
    const run = await checkOut(order.id);
    leave();
    expect(run.status).toBe("SUCCEEDED");
    // In the worst case every page adds a reason, and one error its cause.
    const worstState = run.stateBytes + limits.pages * 200 + longestCause;
    console.log(`state: ${run.stateBytes} bytes, at most ${worstState} of ${mostState}; ${mostWrites} writes of 100`);
    expect(worstState).toBeLessThan(mostState);
    expect(mostWrites).toBeGreaterThan(0);
    expect(mostWrites).toBeLessThanOrEqual(4);
  });
});
