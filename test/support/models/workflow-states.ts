import * as z from "zod/mini";
import { workflow as definition } from "../../../functions/checkout/workflow.ts";

/** The workflow as AWS gets it, in JSON, and the parts of it that tests need. */
export const workflowText = JSON.stringify(definition);

const Choice = z.looseObject({ Next: z.string() });

const State = z.looseObject({
  Type: z.string(),
  Next: z.optional(z.string()),
  Default: z.optional(z.string()),
  Choices: z.optional(z.array(Choice)),
  Retry: z.optional(z.array(z.looseObject({ MaxAttempts: z.number() }))),
  Catch: z.optional(z.array(z.looseObject({ Next: z.string() }))),
  Parameters: z.optional(z.unknown()),
  TimeoutSeconds: z.optional(z.number()),
  MaxConcurrency: z.optional(z.number()),
});

const ItemProcessor = z.object({ StartAt: z.string(), States: z.record(z.string(), State) });
const StateOrMap = z.extend(State, { ItemProcessor: z.optional(ItemProcessor) });
export type State = z.infer<typeof StateOrMap>;

const Workflow = z.object({
  StartAt: z.string(),
  TimeoutSeconds: z.number(),
  States: z.record(z.string(), StateOrMap),
});

export const workflow = z.parse(Workflow, JSON.parse(workflowText));

/** The states that may follow a state. */
export const nextOf = (state: State | undefined): string[] => {
  const { Next, Default, Choices = [], Catch = [] } = state ?? { Type: "none" };
  return [Next, Default, ...Choices.map((choice) => choice.Next), ...Catch.map((caught) => caught.Next)].filter(
    (name) => name !== undefined,
  );
};
