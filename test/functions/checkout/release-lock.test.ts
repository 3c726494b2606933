import { SFNClient, StartExecutionCommand } from "@aws-sdk/client-sfn";
import { afterAll, expect, it, onTestFinished, vi } from "vitest";
import { handler as releaseLock } from "../../../functions/checkout/release-lock.ts";
import { sendReply, serveLocally } from "../../../infra/local/listen.ts";
import { startStepFunctions } from "../../../infra/local/step-functions.ts";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { checkHistory } from "../../support/models/invariants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { asFunction } from "../../support/servers/permissions.ts";
import { checkOut, loadStep, stateOf } from "../../support/servers/workflow.ts";

const handler = asFunction("checkout/release-lock", releaseLock);

/** Reports the end of an execution as EventBridge does, with the properties that the function reads. */
const reportEnd = (run: string, order?: string, executionArn = "", redriveCount = 0) =>
  handler({
    "detail-type": "Step Functions Execution Status Change",
    detail: {
      executionArn,
      name: run,
      status: "FAILED",
      redriveCount,
      ...(order && { input: JSON.stringify({ order_id: order.toLowerCase() }) }),
    },
  });

const failing = (times: number) =>
  Array.from({ length: times }, () => async () => {
    throw new Error("injected failure");
  });

/** Fails the run and its failure path, as often as the workflow retries them. */
const failWithFailurePath = (order: string, run: string) =>
  checkOut(order, { before: { "checkout/forward": failing(4), "checkout/fail": failing(4) } }, run);

const upstream = await carrier();
afterAll(() => upstream.close());

it("a checkout whose failure path also fails locks its order until the end of its own execution is reported", async () => {
  const order = await orderWithOneAttachment();
  for (const run of ["twice-1", "twice-2"]) {
    const failed = { status: "FAILED", cause: expect.stringContaining("too") };
    expect(await failWithFailurePath(order.id, run)).toMatchObject(failed);
    // During the second run, the first one's end is reported late.
    if (run === "twice-2") await reportEnd("twice-1", order.id);
    expect(await stateOf(order.id)).toMatchObject({ run: "RUNNING" });
    await reportEnd(run, order.id);
    expect(await stateOf(order.id)).toMatchObject({ state: "CART", run: "CRASHED" });
    expect(await checkHistory(order.id)).toEqual([]);
  }
  expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
  expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
});

it("a report without the execution's input, which EventBridge leaves out where it is large, releases the lock, too", async () => {
  const order = await orderWithOneAttachment();
  const stuck = (name: string) => (name === "checkout/forward" ? () => new Promise<never>(() => {}) : loadStep(name));
  const stepFunctions = await startStepFunctions({ load: stuck });
  onTestFinished(() => stepFunctions.close());
  process.env.AWS_ENDPOINT_URL_SFN = stepFunctions.url;
  const { stateMachineArn } = stepFunctions;
  const input = JSON.stringify({ order_id: order.id, about: "x".repeat(200_000) });
  const { executionArn = "" } = await new SFNClient().send(new StartExecutionCommand({ stateMachineArn, input }));
  await vi.waitFor(async () => expect(await stateOf(order.id)).toMatchObject({ run: "RUNNING" }), { timeout: 20_000 });
  await reportEnd(executionArn.split(":").at(-1) ?? "", undefined, executionArn);
  expect(await stateOf(order.id)).toMatchObject({ state: "CART", run: "CRASHED" });
});

it("a late report of an end before a redrive releases no lock, but the report of the end after it does", async () => {
  const order = await orderWithOneAttachment();
  await failWithFailurePath(order.id, "redriven");
  const described = { status: "RUNNING", redriveCount: 1 };
  const stepFunctions = await serveLocally((_, response) =>
    sendReply(response, { status: 200, headers: { "content-type": "application/x-amz-json-1.0" }, body: described }),
  );
  onTestFinished(() => stepFunctions.close());
  vi.stubEnv("AWS_ENDPOINT_URL_SFN", stepFunctions.url);
  onTestFinished(() => void vi.unstubAllEnvs());
  await reportEnd("redriven", order.id, "the execution", 0);
  expect(await stateOf(order.id)).toMatchObject({ run: "RUNNING" });
  // The look-up lags behind the event.
  await reportEnd("redriven", order.id, "the execution", 1);
  expect(await stateOf(order.id)).toMatchObject({ run: "CRASHED" });
});
