import { setTimeout as sleep } from "node:timers/promises";
import { ExecutionAlreadyExists, SFN } from "@aws-sdk/client-sfn";
import { isActive, isOpen, markCrashed, readRun, secondsUntil } from "../../../shared/checkout/checkout-run.ts";
import type { CheckoutRun } from "../../../shared/checkout/checkout-schema.ts";
import { describeExecution, executionArnOf, isExecuting } from "../../../shared/checkout/execution.ts";
import { checkoutLimits } from "../../../shared/checkout/limits.ts";
import { receiptsOf } from "../../../shared/checkout/plan.ts";
import { env } from "../../../shared/env.ts";
import { forwardableRequests } from "../../../shared/tenants/orders.ts";

/** Starts and follows executions of the checkout's workflow, on AWS, an emulator or the local stack. */

/** Returns an order's last run. First marks it as CRASHED if it holds the order's lock although its execution has ended. */
export const lastRun = async (orderId: string): Promise<CheckoutRun | undefined> => {
  const last = await readRun(orderId);
  if (!last || !isActive(last, new Date()) || (await isExecuting(last))) return last;
  await markCrashed(orderId, last, new Date());
  return readRun(orderId);
};

/** Starts an order's checkout, and takes over from a crashed run. Returns the name of the new run, or of the one in progress. */
export const startCheckout = async (orderId: string): Promise<string> => {
  const last = await lastRun(orderId);
  if (last && isActive(last, new Date())) return last.run;
  const input = JSON.stringify({ order_id: orderId });
  for (let attempt = (last?.attempt ?? 0) + 1; ; attempt += 1) {
    // The name contains the order and the run's number, so that two simultaneous starts result in one execution.
    const name = `checkout-${orderId}-${attempt}`;
    const execution = { stateMachineArn: env.stateMachineArn(), name, input };
    const started = await new SFN().startExecution(execution).catch((error: unknown) => {
      if (!(error instanceof ExecutionAlreadyExists)) throw error;
    });
    // A name is already used if an earlier run ended before it could store anything.
    if (started || (await isExecuting({ run: name, started_at: new Date().toISOString() }))) return name;
  }
};

export type CheckoutEnd = {
  readonly run: string;
  readonly status: CheckoutRun["status"];
  readonly reason: string | null;
};

/** Returns until when the carrier may act on calls that the order's receipts announce. Returns an empty text if there are none. */
const announcedCallsEndBy = async (orderId: string): Promise<string> => {
  const receipts = (await Promise.all((await forwardableRequests(orderId)).map(receiptsOf))).flat();
  return receipts.reduce((latest, { in_flight_until }) => maxOf(latest, in_flight_until ?? ""), "");
};
const maxOf = (one: string, other: string) => (one > other ? one : other);

/** Returns what the operator of an open order does after its last run, in a sentence. */
export const nextStep = async (orderId: string, last: CheckoutRun, now: Date): Promise<string | undefined> => {
  const { status, outcome_unknown, checked_out, failure } = last;
  if (status === "SUCCEEDED") return undefined;
  if (isActive(last, now))
    return `\`order checkout ${orderId} --wait\` waits for its end. If it was lost in a crash, that shows a minute after its start, and the next checkout continues it.`;
  if (outcome_unknown && checked_out) return `\`order checkout ${orderId}\` completes the order.`;
  const seconds = secondsUntil(last.calls_end_by, now);
  const when = seconds > 0 ? ` after about ${seconds} seconds, when earlier calls have ended` : "";
  if (outcome_unknown)
    return `\`order checkout ${orderId}\` asks the carrier${when}. If it cannot say, ask its support, and record the answer: \`order settle ${orderId}\`.`;
  if (status === "CRASHED") {
    const until = await announcedCallsEndBy(orderId);
    const wait =
      until > now.toISOString() ? `. Where it must wait for announced calls, it waits until ${until} at most` : "";
    return `\`order checkout ${orderId}\` continues the crashed run${wait}.`;
  }
  return failure === "refused"
    ? `Once the customer has replaced what was refused, \`order checkout ${orderId}\` forwards it.`
    : `Once the cause is corrected, \`order checkout ${orderId}\` forwards what is missing.`;
};

type Ended = Pick<CheckoutRun, "failure" | "status">;

/** Returns the one command that fits the state of an order that is not checked out. A refused letter needs its customer first. */
export const commandFor = (orderId: string, last: Ended | undefined): string =>
  last?.status === "FAILED" && last.failure === "refused"
    ? `order show ${orderId}`
    : `order checkout ${orderId} --wait`;

/** Returns the commands that fit the state of an order, the most useful one first. */
export const commandsFor = (id: string, state: "CART" | "CHECKED_OUT", last: CheckoutRun | null): string[] => {
  const canSettle = state === "CART" && last?.outcome_unknown && !last.checked_out && !isOpen(last);
  return [
    ...(state === "CART" ? [commandFor(id, last ?? undefined)] : []),
    ...(canSettle ? [`order settle ${id} --checked-out --reason <text>`] : []),
    ...(state === "CART" && last?.status === "FAILED" && last.failure === "refused"
      ? [`order checkout ${id} --wait`]
      : [`order show ${id}`]),
    `history order ${id}`,
  ];
};

/** Returns undefined while the run is in progress, or another run that was faster. */
const endOf = async (orderId: string, run: string, since: Date): Promise<CheckoutEnd | undefined> => {
  const execution = await describeExecution(executionArnOf(run));
  if (!execution) return endOfUnknown(orderId, run, since);
  const { status, cause, error } = execution;
  if (status === "RUNNING") return undefined;
  const last = await readRun(orderId);
  if (error === "AlreadyRunning" && last && last.run !== run) return endOf(orderId, last.run, since);
  // The run's reason contains the carrier's text and late changes. The execution's cause contains neither.
  const reason = last?.run === run ? last.reason : null;
  if (status === "SUCCEEDED") return { run, status, reason };
  return { run, status: "FAILED", reason: reason ?? cause ?? error ?? `The execution ended as ${status}.` };
};

/**
 * Returns the end of a run whose execution Step Functions does not find. The look-up is eventually consistent, and old executions
 * are deleted.
 */
const endOfUnknown = async (orderId: string, run: string, since: Date): Promise<CheckoutEnd | undefined> => {
  const now = new Date();
  const last = await lastRun(orderId);
  if (last?.run !== run) {
    if (now.getTime() - since.getTime() < checkoutLimits.unknownExecutionMs) return undefined;
    return { run, status: "FAILED", reason: "Step Functions has no such run: start the checkout again." };
  }
  const { status, reason } = last;
  return isOpen(last) ? undefined : { run, status, reason };
};

export const waitForCheckout = async (
  orderId: string,
  run: string,
  pollMs: number,
  onPoll = async (): Promise<void> => {},
): Promise<CheckoutEnd> => {
  const since = new Date();
  for (;;) {
    const started = Date.now();
    const end = await endOf(orderId, run, since);
    await onPoll();
    if (end) return end;
    // Reading a large order takes long. Leave most of the capacity to the run.
    await sleep(Math.max(pollMs, 2 * (Date.now() - started)));
  }
};
