import { afterAll, describe, expect, it, vi } from "vitest";
import { longestRetryAfterSeconds } from "../../../shared/checkout/carrier-client.ts";
import { startRun } from "../../../shared/checkout/checkout-run.ts";
import { failRun } from "../../../shared/checkout/end.ts";
import { callTimeoutMs, checkoutLimits, longestCallMs } from "../../../shared/checkout/limits.ts";
import { sealPage } from "../../../shared/checkout/seal.ts";
import { submitStep } from "../../../shared/checkout/steps.ts";
import { interceptTableCalls } from "../../support/fault-proxy/table-proxy.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { type State, workflow } from "../../support/models/workflow-states.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut } from "../../support/servers/workflow.ts";
import { byExtent } from "../../support/setup/extent.ts";

/** Quotas of Step Functions. Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html */
const maxEvents = 25_000;
const maxStateBytes = 256 * 1024;
/** The longest cause of an error. Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TaskFailedEventDetails.html */
const maxCauseLength = 32_768;

/** The largest direct upload, in bytes. */
const maxFileBytes = 104_857_600;

const { ForwardPages, ...outer } = workflow.States;
const inner = ForwardPages?.ItemProcessor?.States ?? {};

/** A task is entered, scheduled, started, succeeded and exited; each retry adds failed, scheduled and started. */
const eventsOf = ({ Type, Retry = [] }: State): number =>
  Type === "Task" ? 5 + 3 * Retry.reduce((sum, { MaxAttempts }) => sum + MaxAttempts, 0) : 2;

const sum = (states: Record<string, State>, ...names: readonly string[]) =>
  names.reduce((total, name) => {
    const state = states[name];
    if (!state) throw new Error(`There is no state ${name}.`);
    return total + eventsOf(state);
  }, 0);

/** Every task succeeds on its last retry, and every page and every round uses all its passes. */
const worstCaseEvents = () => {
  const waiting = sum(inner, "Forward", "Forwarded", "WaitForCarrier");
  const sealing = sum(inner, "Forward", "Forwarded", "SealRequests", "RequestsSealed");
  const passes = checkoutLimits.pages * checkoutLimits.passes * Math.max(waiting, sealing);
  // An iteration is started and succeeds; a Map is entered, started, succeeded and exited.
  const pageEnds = checkoutLimits.pages * (2 + sum(inner, "PageFailed", "PageEnded"));
  const rounds = checkoutLimits.passes * (pageEnds + 4 + sum(outer, "Paginate", "SealOrder", "OrderSealed"));
  // Before the rounds, the carrier may be asked as often, and once more while an earlier call may be in progress.
  const submits = (2 * checkoutLimits.consecutiveWaits + 3) * sum(outer, "Submit", "Submitted", "WaitToSubmit");
  const ends = 2 + sum(outer, "Lock", "LockFailed", "Locked", "WaitForOldCalls", "Finish", "Fail", "Failed", "Done");
  return passes + rounds + submits + ends;
};

const taskSeconds = (name: string) => inner[name]?.TimeoutSeconds ?? Number.NaN;

const upstream = await carrier();
afterAll(() => upstream.close());

describe("Step Functions' limits", () => {
  it("are not exceeded by the history of the longest possible execution", () => {
    console.log(`history: at most ${worstCaseEvents()} events of ${maxEvents}`);
    expect(worstCaseEvents()).toBeLessThan(maxEvents);
  });

  it("leave an execution time for every wait that a carrier may ask for", () => {
    const waits = (checkoutLimits.passes + checkoutLimits.consecutiveWaits) * longestRetryAfterSeconds;
    const work = checkoutLimits.passes * (taskSeconds("Forward") + taskSeconds("SealRequests"));
    expect(waits + work).toBeLessThan(workflow.TimeoutSeconds);
    expect(checkoutLimits.longestRunMs).toBeGreaterThan(workflow.TimeoutSeconds * 1000);
  });

  it("and Lambda's leave a step time for all attempts to send the largest file", () => {
    const step = taskSeconds("Forward") * 1000;
    // Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    expect(step).toBeLessThanOrEqual(900_000);
    vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
    expect(checkoutLimits.workMs + longestCallMs(maxFileBytes)).toBeLessThan(step - 30_000);
    expect(longestCallMs(0)).toBeLessThan(checkoutLimits.graceSeconds * 1000);
    expect(longestCallMs(0)).toBeLessThan(submitStep.timeoutSeconds * 1000);
    expect(callTimeoutMs(maxFileBytes)).toBeGreaterThan(callTimeoutMs(0) + 100_000);
    vi.unstubAllEnvs();
  });
});

const requests = byExtent({ sample: 30, most: 200, all: 200 });

describe(`an order of ${requests} requests`, () => {
  it("is checked out within the size limits of state and transactions", async () => {
    const order = await newOrder(...Array.from({ length: requests }, () => addMessagingNumbers));
    let maxWrites = 0;
    const stopIntercepting = interceptTableCalls((call, pass) => {
      maxWrites = Math.max(maxWrites, call.input.TransactItems?.length ?? 0);
      return pass();
    });
    const ref = { order_id: order.id, run: `run-of-${order.id}` };
    await startRun(ref, new Date());
    const all = { ...ref, after: null, through: order.requests.at(-1) ?? "", passes_left: 1, consecutive_waits: 0 };
    expect((await sealPage(all)).outcome).toBe("SEALED");
    await failRun(ref, "injected failure", new Date());
    const run = await checkOut(order.id);
    stopIntercepting();
    expect(run.status).toBe("SUCCEEDED");
    // In the worst case, every page adds a reason, and one error its cause.
    const worstState = run.stateBytes + checkoutLimits.pages * 200 + maxCauseLength;
    console.log(
      `state: ${run.stateBytes} bytes, at most ${worstState} of ${maxStateBytes}; ${maxWrites} writes of 100`,
    );
    expect(worstState).toBeLessThan(maxStateBytes);
    expect(maxWrites).toBeGreaterThan(0);
    expect(maxWrites).toBeLessThanOrEqual(100);
  });
});
