import { afterAll, afterEach, describe, expect, it } from "vitest";
import { orderReport } from "../../../infra/admin/report.ts";
import { failRun } from "../../../shared/checkout/end.ts";
import { forwardPage } from "../../../shared/checkout/forward.ts";
import { startRun } from "../../../shared/checkout/run.ts";
import { beginRound, liftSeal, sealPage } from "../../../shared/checkout/seal.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { interceptTableCalls, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { newOrder, orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, loadStep, stateOf } from "../../support/servers/workflow.ts";

/** Lambda may run a step again when its execution has long ended. */

const upstream = await carrier();
afterEach(() => upstream.behave());
afterAll(() => upstream.close());

const refuse = () => upstream.misbehave({ method: "POST", action: "status", status: 422 });

type States = Awaited<ReturnType<typeof checkOut>>["states"];

/** Runs late copies of the steps, and expects that neither the order nor the carrier changes. */
const expectNoChange = async (order: string, states: States, when: string, names = steps.map(({ name }) => name)) => {
  const observe = async () => ({ report: await orderReport(order), calls: await upstream.calls(order) });
  const before = await observe();
  for (const name of names) await loadStep(name)?.(states[name] ?? states["checkout/lock"]).catch(() => undefined);
  expect(await observe(), when).toEqual(before);
};

describe("a late copy of each step", () => {
  it("changes nothing once its run has failed, whatever the next runs do", async () => {
    const order = await orderWithOneAttachment();
    await refuse();
    const { states } = await checkOut(order.id);
    await order.attach(0);
    await expectNoChange(order.id, states, "after its run has failed");
    await refuse();
    await checkOut(order.id);
    await order.attach(0);
    await expectNoChange(order.id, states, "after the next has failed");
    const busy = { action: "status", status: 503, headers: { "Retry-After": "600" } } as const;
    await upstream.misbehave({ method: "PUT", ...busy });
    const late = () => expectNoChange(order.id, states, "while a run waits for the carrier", ["checkout/forward"]);
    const last = await checkOut(order.id, { after: { "checkout/forward": [late] } });
    expect(last.status).toBe("SUCCEEDED");
    await order.attach(0);
    await expectNoChange(order.id, states, "after another has checked the order out");
    await expectNoChange(order.id, last.states, "after it has checked the order out");
  });
});

/** Starts a run of an order with this number of attachments, and returns its only page. */
const startedPage = async (attachments = 0) => {
  const order = await newOrder(addMessagingNumbers);
  for (let each = 0; each < attachments; each += 1) await order.attach(0);
  const ref = { order_id: order.id, run: `run-of-${order.id}` };
  await startRun(ref, new Date());
  const [page] = (await beginRound(ref, 24)).pages;
  if (!page) throw new Error("there is no page");
  return page;
};

/** Does something before the first call that matches. */
const beforeCall = (matches: (call: TableCall) => boolean, act: () => Promise<unknown>) => {
  let done = false;
  return interceptTableCalls(async (call, pass) => {
    if (!done && matches(call)) {
      done = true;
      await act();
    }
    return pass();
  });
};

describe("a copy of the sealing step", () => {
  it("that read the requests before its run failed seals none", async () => {
    const page = await startedPage();
    const isSeal = ({ operation }: TableCall) => operation === "TransactWriteItems";
    const stopIntercepting = beforeCall(isSeal, () => failRun(page, "injected failure", new Date()));
    expect((await sealPage(page)).outcome).toBe("FAILED");
    stopIntercepting();
    expect(await stateOf(page.order_id)).toMatchObject({ run: "FAILED", seals: 0 });
  });

  it("seals none while the failure path is lifting the seals", async () => {
    const page = await startedPage();
    await sealPage(page);
    const releasesTheLock = ({ updates }: TableCall) =>
      updates.some(({ ExpressionAttributeValues: values = {} }) => Object.values(values).includes("FAILED"));
    const stopIntercepting = beforeCall(releasesTheLock, () => sealPage(page));
    await failRun(page, "injected failure", new Date());
    stopIntercepting();
    expect(await stateOf(page.order_id)).toMatchObject({ run: "FAILED", seals: 0 });
  });
});

describe("a copy of the forwarding step", () => {
  it("plans no next attempt once its run has failed", async () => {
    const page = await startedPage(1);
    await upstream.misbehave({ method: "PUT", times: 4, action: "status", status: 503 });
    const recordsTheWait = ({ updates }: TableCall) =>
      updates.some(({ UpdateExpression }) => UpdateExpression.includes("#consecutive_waits"));
    const stopIntercepting = beforeCall(recordsTheWait, () => failRun(page, "injected failure", new Date()));
    expect((await forwardPage(page)).outcome).toBe("FAILED");
    stopIntercepting();
    expect((await orderReport(page.order_id))?.requests[0]?.attachments).toMatchObject([
      { receipt: { next_try_at: null } },
    ]);
  });
});

describe("a seal", () => {
  it("is lifted for the run that has set it, and for no other", async () => {
    const page = await startedPage();
    await sealPage(page);
    const request = { type: "request", id: page.through } as const;
    await liftSeal(request, ["another-run"]);
    expect(await stateOf(page.order_id)).toMatchObject({ seals: 1 });
    await liftSeal(request, ["another-run", page.run]);
    expect(await stateOf(page.order_id)).toMatchObject({ seals: 0 });
  });
});
