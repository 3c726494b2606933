import {
  failStep,
  finishStep,
  forwardStep,
  lockStep,
  paginateStep,
  type Step,
  sealOrderStep,
  sealStep,
  submitStep,
} from "../../shared/checkout/steps.ts";

/**
 * The checkout of an order, in Amazon States Language: every attachment reaches the carrier before the cart is checked out.
 * Its input is `{"order_id"}`. AWS, emulators and the local service run it, so it uses JSONPath only. `npm run synth` writes it
 * to cdk.out/checkout.asl.json; shared/checkout/README.md has a picture of it.
 */

/** The placeholder of a step's function: `${sealOrder}` for `checkout/seal-order`. */
export const placeholderOf = ({ name }: Pick<Step, "name">): string =>
  name.replace("checkout/", "").replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

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

/** The execution's name is the run's name. The lock and every seal contain it. */
const runRef = { "order_id.$": "$.order_id", "run.$": "$$.Execution.Name" } as const;

/** Not every emulator supports Retry and Catch on a Map, so every task has them. Without `next`, the execution ends. */
const task = (step: Step, next: string | undefined, whenItFails: string, payload: object = { "Payload.$": "$" }) =>
  ({
    Type: "Task",
    Resource: "arn:aws:states:::lambda:invoke",
    Parameters: { FunctionName: `\${${placeholderOf(step)}}`, ...payload },
    OutputPath: "$.Payload",
    TimeoutSeconds: step.timeoutSeconds,
    Retry: retry,
    Catch: [{ ErrorEquals: ["States.ALL"], ResultPath: "$.failure", Next: whenItFails }],
    ...(next === undefined ? { End: true } : { Next: next }),
  }) as const;

const choice = (variable: string, nextOf: Readonly<Record<string, string>>, otherwise: string) =>
  ({
    Type: "Choice",
    Choices: Object.entries(nextOf).map(([value, next]) => ({ Variable: variable, StringEquals: value, Next: next })),
    Default: otherwise,
  }) as const;

const wait = (next: string) => ({ Type: "Wait", SecondsPath: "$.wait_seconds", Next: next }) as const;

const page = {
  StartAt: "Forward",
  ProcessorConfig: { Mode: "INLINE" },
  States: {
    Forward: task(forwardStep, "Forwarded", "PageFailed"),
    Forwarded: choice("$.outcome", { FORWARDED: "SealRequests", MORE: "Forward", WAIT: "WaitForCarrier" }, "PageEnded"),
    WaitForCarrier: wait("Forward"),
    SealRequests: task(sealStep, "RequestsSealed", "PageFailed"),
    RequestsSealed: choice("$.outcome", { CHANGED: "Forward" }, "PageEnded"),
    // Passes on only the error's name. Causes are long, and they are in the log.
    PageFailed: {
      Type: "Pass",
      Parameters: {
        outcome: "FAILED",
        passes_left: 0,
        "reason.$": "States.Format('A step failed: {}; its log says why.', $.failure.Error)",
      },
      Next: "PageEnded",
    },
    PageEnded: { Type: "Succeed" },
  },
} as const;

const locked = choice(
  "$.next",
  { PAGINATE: "Paginate", SUBMIT: "Submit", END: "Done", ALREADY_RUNNING: "AlreadyRunning" },
  "Fail",
);

/** The lock was taken over from a run that crashed. Each state that is passed costs. */
const hasToWait = [
  { Variable: "$.wait_seconds", IsPresent: true },
  { Variable: "$.wait_seconds", NumericGreaterThan: 0 },
] as const;

export const workflow = {
  StartAt: "Lock",
  TimeoutSeconds: 604_800,
  States: {
    Lock: task(lockStep, "Locked", "LockFailed", { Payload: runRef }),
    LockFailed: { Type: "Pass", Parameters: { ...runRef, "failure.$": "$.failure" }, Next: "Fail" },
    Locked: { ...locked, Choices: [{ And: hasToWait, Next: "WaitForOldCalls" }, ...locked.Choices] },
    WaitForOldCalls: wait("Paginate"),
    Paginate: task(paginateStep, "ForwardPages", "Fail"),
    ForwardPages: {
      Type: "Map",
      ItemsPath: "$.pages",
      MaxConcurrency: 4,
      ItemProcessor: page,
      ResultPath: "$.results",
      Next: "SealOrder",
    },
    SealOrder: task(sealOrderStep, "OrderSealed", "Fail"),
    OrderSealed: choice("$.next", { SUBMIT: "Submit", PAGINATE: "Paginate" }, "Fail"),
    Submit: task(submitStep, "Submitted", "Fail"),
    Submitted: choice("$.outcome", { CHECKED_OUT: "Finish", OPEN: "Paginate", WAIT: "WaitToSubmit" }, "Fail"),
    WaitToSubmit: wait("Submit"),
    Finish: task(finishStep, undefined, "Fail"),
    Done: { Type: "Succeed" },
    // Another run is checking the order out. This is not the failure of a checkout.
    AlreadyRunning: { Type: "Fail", Error: "AlreadyRunning", CausePath: "$.reason" },
    Fail: task(failStep, "Failed", "FailedTwice"),
    Failed: { Type: "Fail", Error: "CheckoutFailed", CausePath: "$.reason" },
    // The lock remains. On AWS, functions/checkout/release-lock.ts releases it when the execution has ended.
    FailedTwice: { Type: "Fail", Error: "CheckoutFailed", Cause: "The failure path failed too: its log says why." },
  },
} as const;
