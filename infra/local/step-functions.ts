import { randomUUID } from "node:crypto";
import { json } from "node:stream/consumers";
import * as z from "zod/mini";
import { serveLocally } from "./listen.ts";
import { type Execution, startWorkflow, type WorkflowOptions } from "./workflow.ts";

/** What the SDK needs of Step Functions: https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html */
const arnPrefix = "arn:aws:states:us-east-1:000000000000";
export const stateMachineArn = `${arnPrefix}:stateMachine:checkout`;
const arnOf = (name: string) => `${arnPrefix}:execution:checkout:${name}`;
const nameOf = (arn: string) => arn.slice(arn.lastIndexOf(":") + 1);

const Start = z.object({
  stateMachineArn: z.literal(stateMachineArn),
  name: z.optional(z.string()),
  input: z.string(),
});
const OfExecution = z.object({ executionArn: z.string() });

/** An error that the SDK knows by its name. All others are ValidationExceptions. */
const known = ["ExecutionAlreadyExists", "ExecutionDoesNotExist"] as const;
const serviceError = (name: (typeof known)[number], message: string) => Object.assign(new Error(message), { name });

const summary = (name: string, { startDate, state }: Execution) => ({
  executionArn: arnOf(name),
  stateMachineArn,
  name,
  startDate,
  ...state(),
});

type Action = (body: unknown) => object | Promise<object>;

const actionsOf = (workflow: ReturnType<typeof startWorkflow>) => {
  const actions: Readonly<Record<string, Action>> = {
    StartExecution: async (body) => {
      const { name = randomUUID(), input } = z.parse(Start, body);
      const execution = await workflow.start(name, input);
      if (!execution) throw serviceError("ExecutionAlreadyExists", `An execution ${name} already exists.`);
      return { executionArn: arnOf(name), startDate: execution.startDate };
    },
    ListExecutions: () => {
      const last = [...workflow.executions].toReversed().slice(0, 100);
      return { executions: last.map(([name, execution]) => summary(name, execution)) };
    },
    DescribeExecution: (body) => {
      const name = nameOf(z.parse(OfExecution, body).executionArn);
      const execution = workflow.executions.get(name);
      if (!execution) throw serviceError("ExecutionDoesNotExist", "There is no such execution.");
      return { ...summary(name, execution), input: execution.input };
    },
  };
  return new Map(Object.entries(actions));
};

export const startStepFunctions = async (options: WorkflowOptions, port = 0) => {
  const workflow = startWorkflow(options);
  const actions = actionsOf(workflow);
  const { url, close } = await serveLocally(async (request, response) => {
    const send = (status: number, body: object) =>
      response.writeHead(status, { "Content-Type": "application/x-amz-json-1.0" }).end(JSON.stringify(body));
    const name = String(request.headers["x-amz-target"]).replace("AWSStepFunctions.", "");
    try {
      const action = actions.get(name);
      if (!action) throw new Error(`Only ${[...actions.keys()].join(", ")} are supported.`);
      send(200, await action(await json(request)));
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      send(400, { __type: known.find((each) => each === name) ?? "ValidationException", message });
    }
  }, port);
  const stop = async () => {
    workflow.stop();
    await close();
  };
  return { url, stateMachineArn, workflow, close: stop };
};
