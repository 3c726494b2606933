import { afterAll, describe, expect, it, vi } from "vitest";
import { maxRetryAfterSeconds } from "../../../shared/checkout/carrier-client.ts";
import { callTimeoutMs, checkoutLimits, graceMs, maxCallMs } from "../../../shared/checkout/limits.ts";
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

/** A task is entered, scheduled, started, succeeded and exited. Each retry adds failed, scheduled and started. */
const eventsOf = ({ Type, Retry = [] }: State): number =>
  Type === "Task" ? 5 + 3 * Retry.reduce((sum, { MaxAttempts }) => sum + MaxAttempts, 0) : 2;

const sum = (...names: readonly string[]) =>
  names.reduce((total, name) => {
    const state = workflow.States[name];
    if (!state) throw new Error(`There is no state ${name}.`);
    return total + eventsOf(state);
  }, 0);

/** The first rounds of changes, and the corrections, may follow the last pass. */
const maxPasses = checkoutLimits.passes + checkoutLimits.rounds + checkoutLimits.corrections;

/** Every task succeeds on its last retry, every pass is followed by a wait and a try to seal, and every wait of `submit` happens. */
const worstCaseEvents = () => {
  const passes = maxPasses * sum("Forward", "Decide", "WaitToForward", "Submit", "Decide");
  // Before the passes, the carrier may be asked as often as after them.
  const submits = 2 * (checkoutLimits.waits + 2) * sum("Submit", "Decide", "WaitToSubmit");
  return 2 + passes + submits + sum("Begin", "Decide", "Fail", "Failed");
};

const taskSeconds = (name: string) => workflow.States[name]?.TimeoutSeconds ?? Number.NaN;

const upstream = await carrier();
afterAll(() => upstream.close());

describe("Step Functions' limits", () => {
  it("are not exceeded by the history of the longest possible execution", () => {
    console.log(`history: at most ${worstCaseEvents()} events of ${maxEvents}`);
    expect(worstCaseEvents()).toBeLessThan(maxEvents);
  });

  it("leave an execution time for every wait that a carrier may ask for", () => {
    const { passes, maxRunMs } = checkoutLimits;
    const waits = (passes + 2 * checkoutLimits.waits) * maxRetryAfterSeconds;
    const work = maxPasses * (taskSeconds("Forward") + taskSeconds("Submit"));
    expect(waits + work).toBeLessThan(workflow.TimeoutSeconds);
    expect(maxRunMs).toBeGreaterThan(workflow.TimeoutSeconds * 1000);
  });

  it("and Lambda's leave a step time for all attempts to send the largest file, with the longest timeout of a call", () => {
    const step = taskSeconds("Forward") * 1000;
    // Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    expect(step).toBeLessThanOrEqual(900_000);
    vi.stubEnv("CARRIER_TIMEOUT_MS", "35000");
    expect(checkoutLimits.workMs + maxCallMs(maxFileBytes)).toBeLessThan(step - 20_000);
    expect(maxCallMs(0)).toBeLessThan(graceMs());
    // The POST, and the GET that decides after it.
    expect(2 * maxCallMs(0)).toBeLessThan((submitStep.timeoutSeconds - 60) * 1000);
    expect(callTimeoutMs(maxFileBytes)).toBeGreaterThan(callTimeoutMs(0) + 100_000);
    vi.stubEnv("CARRIER_TIMEOUT_MS", "35001");
    expect(() => callTimeoutMs(0)).toThrow("must be a whole number up to 35000, not 35001.");
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
    const run = await checkOut(order.id);
    stopIntercepting();
    expect(run.status).toBe("SUCCEEDED");
    expect(run.entered).toBe(7);
    // In the worst case, an error adds its cause.
    const worstState = run.stateBytes + maxCauseLength;
    console.log(
      `state: ${run.stateBytes} bytes, at most ${worstState} of ${maxStateBytes}; ${maxWrites} writes of 100`,
    );
    expect(worstState).toBeLessThan(maxStateBytes);
    expect(maxWrites).toBeGreaterThan(0);
    expect(maxWrites).toBeLessThanOrEqual(100);
  });
});
