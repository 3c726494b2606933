/** An ordering system in the two calls of docs/systems.md: applies an order and a request, and checks the order out. */
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { SFNClient, StartExecutionCommand } from "@aws-sdk/client-sfn";

const { ACCOUNT, ORDERING_FUNCTION_NAME, STATE_MACHINE_ARN } = process.env;
const file = {
  orders: { first: { account: ACCOUNT } },
  requests: { numbers: { order: "first", type: "ADD_MESSAGING_NUMBERS" } },
};
const apply = new InvokeCommand({ FunctionName: ORDERING_FUNCTION_NAME, Payload: JSON.stringify(file) });
const { Payload } = await new LambdaClient().send(apply);
const { errors, orders } = JSON.parse(Payload.transformToString());
if (errors) throw new Error(errors.map(({ source, detail }) => `${source?.pointer} ${detail}`).join("; "));
const input = JSON.stringify({ order_id: orders.first.id });
const start = new StartExecutionCommand({ stateMachineArn: STATE_MACHINE_ARN, input });
console.log((await new SFNClient().send(start)).executionArn);
