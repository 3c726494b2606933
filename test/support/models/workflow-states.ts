import { workflow as definition } from "../../../functions/checkout/workflow.ts";

/** The workflow as JSON, as it is deployed to AWS, and the parts of it that tests need. */
export const workflowText = JSON.stringify(definition);

export type State = {
  readonly Type: string;
  readonly Next?: string;
  readonly Default?: string;
  readonly Choices?: readonly { readonly Next: string }[];
  readonly Retry?: readonly { readonly MaxAttempts: number }[];
  readonly Catch?: readonly { readonly Next: string }[];
  readonly Parameters?: unknown;
  readonly TimeoutSeconds?: number;
};
type Machine = {
  readonly StartAt: string;
  readonly TimeoutSeconds: number;
  readonly States: Readonly<Record<string, State>>;
};

export const workflow: Machine = JSON.parse(workflowText);

export const nextOf = (state: State | undefined): string[] => {
  const { Next, Default, Choices = [], Catch = [] } = state ?? { Type: "none" };
  return [Next, Default, ...Choices.map((choice) => choice.Next), ...Catch.map((caught) => caught.Next)].filter(
    (name) => name !== undefined,
  );
};
