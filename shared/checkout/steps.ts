import type { Route } from "../route.ts";

/**
 * The table of the workflow's steps, the counterpart of routes.ts. The functions and their permissions on AWS, the handlers
 * of the local service, and the tasks of functions/checkout/workflow.ts are derived from it. A step is one row here, one file
 * `functions/<name>.ts`, and a task. Each row is a separate constant.
 */
export type Step = {
  /** Its file below `functions/`, and the function's name. */
  readonly name: string;
  /** The actions on the table and the bucket that its function is allowed. */
  readonly grants: Route["grants"];
  /** Whether it calls the carrier, and therefore needs the carrier's address and token. */
  readonly carrier?: boolean;
  readonly timeoutSeconds: number;
  readonly memoryMb?: number;
};

/** Locks the order for one run, and decides where the run starts. */
export const lockStep = {
  name: "checkout/lock",
  grants: { table: ["GetItem", "PutItem", "UpdateItem"], files: [] },
  timeoutSeconds: 30,
} as const satisfies Step;

/** Divides the order's requests into pages. */
export const paginateStep = {
  name: "checkout/paginate",
  grants: { table: ["GetItem", "Query"], files: [] },
  timeoutSeconds: 60,
} as const satisfies Step;

/** Forwards and withdraws until the carrier has the attachments of a page's requests as the table has them. */
export const forwardStep = {
  name: "checkout/forward",
  grants: {
    table: ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"],
    files: ["GetObject", "GetObjectTagging"],
  },
  carrier: true,
  timeoutSeconds: 900,
  memoryMb: 512,
} as const satisfies Step;

/** Seals the requests of a page if none has changed since its attachments were forwarded. */
export const sealStep = {
  name: "checkout/seal",
  grants: { table: ["GetItem", "Query", "UpdateItem"], files: [] },
  timeoutSeconds: 120,
} as const satisfies Step;

/** Seals the order if its attachments have not changed since the round began. */
export const sealOrderStep = {
  name: "checkout/seal-order",
  grants: { table: ["UpdateItem"], files: [] },
  timeoutSeconds: 30,
} as const satisfies Step;

/** Checks out the upstream cart, or asks whether it is checked out and lifts the seal of the run that has left that open. */
export const submitStep = {
  name: "checkout/submit",
  grants: { table: ["GetItem", "UpdateItem"], files: [] },
  carrier: true,
  timeoutSeconds: 330,
} as const satisfies Step;

/** Sets the state of the order and all its requests to CHECKED_OUT. */
export const finishStep = {
  name: "checkout/finish",
  grants: { table: ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"], files: [] },
  timeoutSeconds: 120,
} as const satisfies Step;

/** The failure path: lifts the seals, records the reason, releases the lock. */
export const failStep = {
  name: "checkout/fail",
  grants: { table: ["GetItem", "Query", "PutItem", "UpdateItem"], files: [] },
  timeoutSeconds: 300,
} as const satisfies Step;

export const steps: readonly Step[] = [
  lockStep,
  paginateStep,
  forwardStep,
  sealStep,
  sealOrderStep,
  submitStep,
  finishStep,
  failStep,
];
