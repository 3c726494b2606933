import { DescribeExecutionCommand, SFNClient } from "@aws-sdk/client-sfn";
import * as z from "zod/mini";
import { isActive, markCrashed, readRun } from "../../shared/checkout/run.ts";
import { OrderId } from "../../shared/checkout/schema.ts";
import { clientSettings } from "../../shared/deadline.ts";
import { log, loggingFailures } from "../../shared/log.ts";

const Detail = z.object({
  executionArn: z.string(),
  name: z.string(),
  status: z.string(),
  input: z.optional(z.nullable(z.string())),
});
type Detail = z.infer<typeof Detail>;
const Input = z.object({ order_id: OrderId });

/** EventBridge leaves a large input out. https://docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html */
const inputOf = async ({ input, executionArn }: Detail) =>
  input ??
  (await new SFNClient(clientSettings(5_000)).send(new DescribeExecutionCommand({ executionArn }))).input ??
  "{}";

/** Runs after a checkout's execution has failed. Releases the lock if the execution's own failure path could not. */
export const handler = loggingFailures("release-lock", async (event: unknown): Promise<void> => {
  const { detail } = z.parse(z.object({ detail: Detail }), event);
  const { name: run, status } = detail;
  const order = z.safeParse(Input, JSON.parse(await inputOf(detail))).data?.order_id;
  const last = order && (await readRun(order));
  const isLocked = last && last.run === run && isActive(last, new Date());
  const released = isLocked ? await markCrashed(order, last, new Date()) : false;
  log.info("release-lock", { order_id: order, run, status, released });
});
