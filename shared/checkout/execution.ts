import { DescribeExecutionCommand, SFNClient } from "@aws-sdk/client-sfn";
import * as z from "zod/mini";
import { clientSettings } from "../deadline.ts";
import { OrderId } from "./checkout-schema.ts";

export const EndedExecution = z.object({
  executionArn: z.string(),
  name: z.string(),
  status: z.string(),
  input: z.optional(z.nullable(z.string())),
});

const Input = z.object({ order_id: OrderId });

/**
 * Returns the order of an execution, if its input names one. EventBridge leaves a large input out of its event.
 * Source: https://docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html
 */
export const orderOf = async ({ input, executionArn }: z.infer<typeof EndedExecution>): Promise<string | undefined> => {
  const describe = () => new SFNClient(clientSettings(5_000)).send(new DescribeExecutionCommand({ executionArn }));
  return z.safeParse(Input, JSON.parse(input ?? (await describe()).input ?? "{}")).data?.order_id;
};
