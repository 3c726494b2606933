import { DescribeExecutionCommand, ExecutionDoesNotExist, SFNClient } from "@aws-sdk/client-sfn";
import * as z from "zod/mini";
import { clientSettings } from "../deadline.ts";
import { env } from "../env.ts";
import { type CheckoutRun, OrderId } from "./checkout-schema.ts";
import { checkoutLimits } from "./limits.ts";

/** Returns an execution of the workflow. Returns undefined if Step Functions does not find it, or not yet. */
export const describeExecution = async (executionArn: string) => {
  try {
    return await new SFNClient(clientSettings(5_000)).send(new DescribeExecutionCommand({ executionArn }));
  } catch (error) {
    if (error instanceof ExecutionDoesNotExist) return undefined;
    throw error;
  }
};

export const executionArnOf = (run: string): string =>
  `${env.stateMachineArn().replace(":stateMachine:", ":execution:")}:${run}`;

/**
 * Whether the execution of a run is in progress. An execution that is not found ended long ago, or with its local stack. Because
 * the look-up is eventually consistent, it counts as in progress in its first minute.
 * Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
 */
export const isExecuting = async ({ run, started_at }: Pick<CheckoutRun, "run" | "started_at">): Promise<boolean> => {
  const execution = await describeExecution(executionArnOf(run));
  return execution
    ? execution.status === "RUNNING"
    : Date.now() - Date.parse(started_at) < checkoutLimits.unknownExecutionMs;
};

export const EndedExecution = z.object({
  executionArn: z.string(),
  name: z.string(),
  status: z.string(),
  input: z.optional(z.nullable(z.string())),
  redriveCount: z._default(z.number(), 0),
});

/**
 * Whether an operator has redriven an execution since this end, so that it is in progress again. Without a higher count, a look-up
 * that says so is only older than the event.
 */
export const isRedriven = async ({ executionArn, redriveCount }: z.infer<typeof EndedExecution>): Promise<boolean> => {
  const now = await describeExecution(executionArn);
  return now?.status === "RUNNING" && (now.redriveCount ?? 0) > redriveCount;
};

const Input = z.object({ order_id: OrderId });

/**
 * Returns the order of an execution, if its input names one. EventBridge leaves a large input out of its event.
 * Source: https://docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html
 */
export const orderOf = async ({
  input,
  executionArn,
}: Pick<z.infer<typeof EndedExecution>, "input" | "executionArn">): Promise<string | undefined> =>
  z.safeParse(Input, JSON.parse(input ?? (await describeExecution(executionArn))?.input ?? "{}")).data?.order_id;
