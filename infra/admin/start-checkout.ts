import { setTimeout as sleep } from "node:timers/promises";
import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  SFNClient,
  StartExecutionCommand,
} from "@aws-sdk/client-sfn";
import { isActive, markCrashed, readRun } from "../../shared/checkout/run.ts";
import { env } from "../../shared/env.ts";

/** The executions of the checkout's workflow: on AWS, an emulator or the local stack. */

/** Derived from the order and the number of its run, so that two starts at once are one. */
const nameOf = (orderId: string, attempt: number) => `checkout-${orderId}-${attempt}`;

const executionArn = (name: string) => `${env.stateMachineArn().replace(":stateMachine:", ":execution:")}:${name}`;

const describe = async (client: SFNClient, name: string) =>
  client.send(new DescribeExecutionCommand({ executionArn: executionArn(name) })).catch((error: unknown) => {
    if (error instanceof ExecutionDoesNotExist) return undefined;
    throw error;
  });

/** The name of the execution, undefined where the name has been used up. */
const tryStart = async (client: SFNClient, orderId: string, attempt: number): Promise<string | undefined> => {
  const name = nameOf(orderId, attempt);
  const command = new StartExecutionCommand({
    stateMachineArn: env.stateMachineArn(),
    name,
    input: JSON.stringify({ order_id: orderId }),
  });
  try {
    await client.send(command);
    return name;
  } catch (error) {
    if (!(error instanceof ExecutionAlreadyExists)) throw error;
    return (await describe(client, name))?.status === "RUNNING" ? name : undefined;
  }
};

/**
 * Starts an order's checkout and returns its run's name; if one is under way, that one's. A run that holds the order
 * though its execution is over has crashed: the new one takes its place.
 */
export const startCheckout = async (orderId: string): Promise<string> => {
  const client = new SFNClient();
  const last = await readRun(orderId);
  if (last && isActive(last, new Date())) {
    if ((await describe(client, last.run))?.status === "RUNNING") return last.run;
    await markCrashed(orderId, last, new Date());
  }
  // A name is used up where a run ended before it could write anything down.
  for (let attempt = (last?.attempt ?? 0) + 1; ; attempt += 1) {
    const name = await tryStart(client, orderId, attempt);
    if (name) return name;
  }
};

/** How a run has ended, in the words of the workflow. */
export type CheckoutEnd = {
  readonly run: string;
  readonly status: "SUCCEEDED" | "FAILED";
  readonly reason: string | null;
};

/** Asks the workflow whether a run has ended; undefined while it is at work. */
const endOf = async (client: SFNClient, run: string): Promise<CheckoutEnd | undefined> => {
  const execution = await describe(client, run);
  if (!execution) return { run, status: "FAILED", reason: "The workflow does not know this run." };
  const { status, cause, error } = execution;
  if (status === "RUNNING") return undefined;
  if (status === "SUCCEEDED") return { run, status, reason: null };
  return { run, status: "FAILED", reason: cause ?? error ?? `The execution ended as ${status}.` };
};

/** Waits until a run has ended; `onPoll` is called in between and at the end. */
export const waitForCheckout = async (
  run: string,
  pollMs = 500,
  onPoll = async (): Promise<void> => {},
): Promise<CheckoutEnd> => {
  const client = new SFNClient();
  for (;;) {
    const started = Date.now();
    const end = await endOf(client, run);
    await onPoll();
    if (end) return end;
    // A large order takes long to read: most of the time is left to the run.
    await sleep(Math.max(pollMs, 2 * (Date.now() - started)));
  }
};
