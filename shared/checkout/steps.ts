import type { EntryPoint, Route } from "../route.ts";

/**
 * The table of the workflow's steps, as routes.ts is that of the endpoints. The functions and their permissions on AWS, the
 * handlers of the local service, and the tasks of functions/checkout/workflow.ts are derived from it. A step is one row here, one
 * file in `functions/checkout`, and a task. Each row is a separate constant.
 */
export type Step = EntryPoint & {
  /** The actions on the table and the bucket that its function is allowed. */
  readonly grants: Route["grants"];
  /** Whether it calls the carrier, and therefore needs the carrier's address and token. */
  readonly carrier?: true;
  /** Whether it looks up executions of the workflow. */
  readonly executions?: true;
  readonly timeoutSeconds: number;
  readonly memoryMb?: number;
};

/** Locks the order for one run, and decides where the run starts. */
export const beginStep = {
  name: "checkout/begin",
  file: "functions/checkout/begin.ts",
  grants: { table: ["GetItem", "ConditionCheckItem", "PutItem", "UpdateItem"], files: [] },
  executions: true,
  timeoutSeconds: 60,
} as const satisfies Step;

/** Forwards and withdraws until the carrier's attachments match the table. */
export const forwardStep = {
  name: "checkout/forward",
  file: "functions/checkout/forward.ts",
  grants: {
    table: ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"],
    files: ["GetObject", "GetObjectTagging"],
  },
  carrier: true,
  timeoutSeconds: 900,
  memoryMb: 512,
} as const satisfies Step;

/** Seals the order and checks the carrier's cart out, or asks whether it is checked out. Then checks out the order. */
export const submitStep = {
  name: "checkout/submit",
  file: "functions/checkout/submit.ts",
  grants: { table: ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"], files: [] },
  carrier: true,
  timeoutSeconds: 480,
} as const satisfies Step;

/** The failure path. It records the reason and releases the lock. */
export const failStep = {
  name: "checkout/fail",
  file: "functions/checkout/fail.ts",
  grants: { table: ["GetItem", "PutItem", "UpdateItem"], files: [] },
  timeoutSeconds: 60,
} as const satisfies Step;

export const steps: readonly Step[] = [beginStep, forwardStep, submitStep, failStep];
