import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { startCheckout, waitForCheckout } from "../../../infra/admin/orders/start-checkout.ts";
import { type StepHandler, startStepFunctions } from "../../../infra/local/step-functions.ts";
import { receiptsOf } from "../../../shared/checkout/plan.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { newOrder, type TestOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { checkHistory } from "../../support/models/invariants.ts";
import { admin } from "../../support/requests/admin.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { loadStep, stateOf } from "../../support/servers/workflow.ts";
import { byExtent, exhaustive, sampleOf } from "../../support/setup/extent.ts";

/** Each step of a successful run, and each kind of call to the carrier. */
const places = [
  ...steps.map(({ name }) => name).filter((name) => name !== "checkout/fail"),
  "PUT",
  "POST",
  "DELETE",
  "GET",
];
/** A sample has one in nine, before some places and after others. */
const moments = sampleOf(
  places.flatMap((place) => [`before ${place}`, `after ${place}`]),
  byExtent({ sample: 9, most: 1, all: 1 }),
);

const endCalls = (order: string) => {
  const set = { calls_end_by: new Date().toISOString() };
  return transact({ run: { update: keys.checkout(order), set, when: { exists: true } } });
};

/** Ends the minute in which an unknown execution counts as in progress, and the announced time of each call. */
const endExecution = async ({ id, requests }: TestOrder) => {
  const set = { started_at: new Date(Date.now() - 60_000).toISOString() };
  await transact({ run: { update: keys.checkout(id), set, when: { exists: true } } });
  const over = { in_flight_until: new Date().toISOString() };
  for (const request of requests)
    for (const { attachment } of await receiptsOf(request))
      await transact({ receipt: { update: keys.receipt(request, attachment), set: over, when: { exists: true } } });
};

/** Calls end with the process that is killed, so a run that takes over need not wait for them. */
const withoutGrace = (name: string): StepHandler | undefined => {
  const step = loadStep(name);
  if (name !== "checkout/begin") return step;
  return async (input) => {
    const result = await step?.(input);
    await endCalls(String(Object(result).order_id));
    return { ...result };
  };
};

let upstream: Awaited<ReturnType<typeof carrier>>;
let stepFunctions: Awaited<ReturnType<typeof startStepFunctions>>;

/** Lets a run forward one file and fail on another, then deletes both, so that the next run must withdraw the first. */
const leaveOneToWithdraw = async (order: TestOrder) => {
  // Calls of one request start together, so the refusal of one file does not prevent the other from being sent.
  const [forwarded, refused] = [await order.attach(0, "withdrawn"), await order.attach(0, "refused")];
  await upstream.misbehave({ method: "PUT", path: refused, action: "status", status: 422 });
  const run = await startCheckout(order.id);
  expect(await waitForCheckout(order.id, run, 10)).toMatchObject({ status: "FAILED" });
  expect(await upstream.forwarded(order.id)).toContain(`${order.requests[0]} ${forwarded}`);
  for (const id of [forwarded, refused]) await order.remove(0, id);
  return [forwarded, refused];
};

/** Lets a run end without knowing whether the cart is checked out, so that the next run must ask. */
const leaveOutcomeOpen = async ({ id }: TestOrder) => {
  await upstream.misbehave({ method: "POST", path: id, action: "status", status: 500 });
  await upstream.misbehave({ method: "POST", path: id, action: "status", status: 404, times: 11 });
  expect(await waitForCheckout(id, await startCheckout(id), 10)).toMatchObject({ status: "FAILED" });
  await endCalls(id);
};

/** Creates an order whose run is killed at this moment. */
const orderToKill = async (moment: string) => {
  const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
  const deleted = moment.endsWith("DELETE") ? await leaveOneToWithdraw(order) : [];
  const own = [`${order.requests[0]} ${await order.attach(0)}`, `${order.requests[1]} ${await order.attach(1)}`];
  const isAsked = moment.endsWith("GET");
  if (isAsked) await leaveOutcomeOpen(order);
  const shared = await order.attach("order");
  const attempt = isAsked || deleted.length > 0 ? 2 : 1;
  return {
    order,
    moment,
    deleted,
    attempt,
    expected: [...own, ...order.requests.map((id) => `${id} ${shared}`)].sort(),
  };
};
type KilledOrder = Awaited<ReturnType<typeof orderToKill>>;
const orders = new Map<string, KilledOrder>();

/** Runs all orders in one process until each has reached its moment, then kills it with SIGKILL. */
const killAtTheirMoments = async () => {
  const script = join(import.meta.dirname, "../../support/processes/checkouts-to-kill.ts");
  const sent = [...orders.values()].map(({ order, moment, attempt }) => ({
    order: order.id,
    moment,
    run: `checkout-${order.id}-${attempt}`,
  }));
  const child = spawn(process.execPath, [script, JSON.stringify(sent)], { stdio: ["ignore", "pipe", "inherit"] });
  const stuck = new Set<string>();
  for await (const line of createInterface(child.stdout)) {
    stuck.add(line);
    if (stuck.size === sent.length) break;
  }
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(child.signalCode).toBe("SIGKILL");
  expect([...stuck].sort()).toEqual(sent.map(({ order }) => order).sort());
};

beforeAll(async () => {
  upstream = await carrier();
  stepFunctions = await startStepFunctions({ load: withoutGrace, pauseMs: 5 });
  process.env.AWS_ENDPOINT_URL_SFN = stepFunctions.url;
  process.env.STATE_MACHINE_ARN = stepFunctions.stateMachineArn;
  for (const moment of moments) orders.set(moment, await orderToKill(moment));
  await killAtTheirMoments();
});
afterAll(async () => {
  await stepFunctions.close();
  await upstream.close();
});

describe("a checkout whose process was killed", () => {
  it.each(moments)("%s is completed by the next run, with each file at the carrier exactly once", async (moment) => {
    const { order, expected, deleted } = orders.get(moment) ?? (await orderToKill(moment));
    const before = await stateOf(order.id);
    expect(before.state).toBe(moment === "after checkout/submit" ? "CHECKED_OUT" : "CART");

    await endExecution(order);
    const run = await startCheckout(order.id);
    expect(await waitForCheckout(order.id, run, 10)).toEqual({ run, status: "SUCCEEDED", reason: null });

    expect(await stateOf(order.id)).toMatchObject({
      state: "CHECKED_OUT",
      run: "SUCCEEDED",
      sealed: true,
      reason: null,
    });
    expect(await upstream.forwarded(order.id)).toEqual(expected);
    const { calls, checked_out, withdrawn } = await upstream.cart(order.id);
    expect(checked_out).toBe(true);
    expect(withdrawn.map(({ attachment_id }) => attachment_id)).toEqual(deleted.slice(0, 1));
    const withdrawals = new Set(calls.filter(({ method }) => method === "DELETE").map((one) => one.idempotency_key));
    expect(withdrawals.size).toBe(withdrawn.length);
    const others = calls.filter(({ path }) => !deleted.some((id) => path.endsWith(id)));
    const keys = new Set(others.map(({ idempotency_key }) => idempotency_key));
    // What came after the first checkout of the cart makes another manifest, so another call.
    expect(keys.size).toBe(expected.length + (moment.endsWith("GET") ? 2 : 1));
    expect(await checkHistory(order.id)).toEqual([]);
  });

  it.runIf(exhaustive)("leaves no violation that `admin check` finds", async () => {
    const own = [...orders.values()].flatMap(({ order }) => [order.id, ...order.requests]);
    const { stdout, stderr } = await admin(["check", "--json"]);
    const { data: found, error } = z.safeParse(z.array(z.object({ at: z.string() })), JSON.parse(stdout));
    expect([found?.filter(({ at }) => own.some((id) => at.includes(id))), error && stdout + stderr]).toEqual([
      [],
      undefined,
    ]);
  });
});
