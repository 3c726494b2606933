import type { TableAction } from "../route.ts";

/**
 * The table of the workflow's steps, the counterpart of routes.ts. The functions and their permissions on AWS and the
 * handlers of the local service are derived from it. A step is one row here, one file `functions/<name>.ts`, and the
 * placeholder `${<last part of the name>}` in functions/checkout/workflow.asl.json. Each row is a separate constant.
 */
export type Step = {
  /** Its file below `functions/`, and the function's name. */
  readonly name: string;
  /** The actions on the table and the bucket that its function is allowed. */
  readonly access: { readonly table: readonly TableAction[]; readonly files: readonly "GetObject"[] };
  /** Whether it calls the carrier, and therefore needs the carrier's address and token. */
  readonly carrier: boolean;
  readonly timeoutSeconds: number;
  readonly memoryMb?: number;
};

/** Locks the order for one run, and decides where the run starts. */
export const load = {
  name: "checkout/load",
  access: { table: ["BatchGetItem", "UpdateItem"], files: [] },
  carrier: false,
  timeoutSeconds: 30,
} as const satisfies Step;

/** Divides the order's requests into pages. */
export const gather = {
  name: "checkout/gather",
  access: { table: ["GetItem", "Query"], files: [] },
  carrier: false,
  timeoutSeconds: 60,
} as const satisfies Step;

/** Forwards and withdraws until the carrier has the attachments of a page's requests as the table has them. */
export const forward = {
  name: "checkout/forward",
  access: { table: ["GetItem", "BatchGetItem", "Query", "UpdateItem"], files: ["GetObject"] },
  carrier: true,
  timeoutSeconds: 900,
  memoryMb: 512,
} as const satisfies Step;

/** Seals each request of a page that has not changed since its attachments were forwarded. */
export const seal = {
  name: "checkout/seal",
  access: { table: ["GetItem", "Query", "UpdateItem"], files: [] },
  carrier: false,
  timeoutSeconds: 120,
} as const satisfies Step;

/** Seals the order if its attachments have not changed since the round began. */
export const close = {
  name: "checkout/close",
  access: { table: ["UpdateItem"], files: [] },
  carrier: false,
  timeoutSeconds: 30,
} as const satisfies Step;

/** Checks out the upstream cart. */
export const submit = {
  name: "checkout/submit",
  access: { table: ["GetItem", "UpdateItem"], files: [] },
  carrier: true,
  timeoutSeconds: 180,
} as const satisfies Step;

/** Sets the state of the order and all its requests to CHECKED_OUT. */
export const finish = {
  name: "checkout/finish",
  access: { table: ["GetItem", "UpdateItem"], files: [] },
  carrier: false,
  timeoutSeconds: 30,
} as const satisfies Step;

/** The failure path: lifts the seals, records the reason, releases the lock. */
export const fail = {
  name: "checkout/fail",
  access: { table: ["GetItem", "Query", "UpdateItem"], files: [] },
  carrier: false,
  timeoutSeconds: 300,
} as const satisfies Step;

export const steps: readonly Step[] = [load, gather, forward, seal, close, submit, finish, fail];
