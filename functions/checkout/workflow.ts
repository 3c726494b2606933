import type { StepResult } from "../../shared/checkout/checkout-schema.ts";
import { beginStep, failStep, forwardStep, type Step, submitStep } from "../../shared/checkout/steps.ts";

/**
 * The checkout of an order, in Amazon States Language. Every attachment reaches the carrier before the cart is checked out. The
 * input is `{"order_id"}`. AWS, emulators and the local service run it, so it uses JSONPath only. `./patchbay synth` writes it to
 * cdk.out/checkout.asl.json. shared/checkout/README.md has a picture of it.
 */

/** The placeholder of a step's function: `${begin}` for `checkout/begin`. */
export const placeholderOf = ({ name }: Pick<Step, "name">): string => name.replace("checkout/", "");

const growing = { IntervalSeconds: 20, BackoffRate: 3, JitterStrategy: "FULL" } as const;

const retry = [
  {
    // Lambda could not run the step. Ten waits take 52 minutes on average.
    ErrorEquals: [
      "Lambda.ServiceException",
      "Lambda.AWSLambdaException",
      "Lambda.SdkClientException",
      "Lambda.ClientExecutionTimeoutException",
      "Lambda.TooManyRequestsException",
    ],
    ...growing,
    MaxDelaySeconds: 900,
    MaxAttempts: 10,
  },
  { ErrorEquals: ["States.ALL"], ...growing, MaxAttempts: 3 },
] as const;

/** The execution's name is the run's name. */
const input = {
  "run.$": "$$.Execution.Name",
  "started_at.$": "$$.Execution.StartTime",
  "state.$": "$",
} as const;

const task = (step: Step, next: string, whenItFails: string) =>
  ({
    Type: "Task",
    Resource: "arn:aws:states:::lambda:invoke",
    Parameters: { FunctionName: `\${${placeholderOf(step)}}`, Payload: input },
    OutputPath: "$.Payload",
    TimeoutSeconds: step.timeoutSeconds,
    Retry: retry,
    Catch: [{ ErrorEquals: ["States.ALL"], ResultPath: "$.failure", Next: whenItFails }],
    Next: next,
  }) as const;

const wait = (next: string) => ({ Type: "Wait", SecondsPath: "$.wait_seconds", Next: next }) as const;

/** The states that follow each `next` of checkout-schema.ts. */
const targets = {
  FORWARD: "Forward",
  WAIT_TO_FORWARD: "WaitToForward",
  SUBMIT: "Submit",
  WAIT_TO_SUBMIT: "WaitToSubmit",
  DONE: "Done",
  ALREADY_RUNNING: "AlreadyRunning",
} as const satisfies Record<Exclude<StepResult["next"], "FAIL">, string>;

export const workflow = {
  StartAt: "Begin",
  TimeoutSeconds: 604_800,
  States: {
    Begin: task(beginStep, "Decide", "Fail"),
    Decide: {
      Type: "Choice",
      Choices: Object.entries(targets).map(([next, Next]) => ({ Variable: "$.next", StringEquals: next, Next })),
      Default: "Fail",
    },
    WaitToForward: wait("Forward"),
    Forward: task(forwardStep, "Decide", "Fail"),
    WaitToSubmit: wait("Submit"),
    Submit: task(submitStep, "Decide", "Fail"),
    Done: { Type: "Succeed" },
    // Another run is checking the order out. This is not the failure of a checkout.
    AlreadyRunning: { Type: "Fail", Error: "AlreadyRunning", CausePath: "$.reason" },
    Fail: task(failStep, "Failed", "FailedTwice"),
    // The cause has no texts of the carrier or of customers, because everyone who may start checkouts can read it.
    Failed: { Type: "Fail", Error: "CheckoutFailed", CausePath: "$.cause" },
    // The lock remains. On AWS, functions/checkout/release-lock.ts releases it when the execution has ended.
    FailedTwice: { Type: "Fail", Error: "CheckoutFailed", Cause: "The failure path failed, too: see its log." },
  },
} as const;
