import { expect } from "vitest";
import { orderReport } from "../../../infra/admin/orders/report.ts";
import { loadSteps } from "../../../infra/local/handlers.ts";
import { type StepHandler, startWorkflow } from "../../../infra/local/step-functions.ts";
import { readRun } from "../../../shared/checkout/checkout-run.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { checkHistory } from "../models/invariants.ts";
import { withPermissions } from "./permissions.ts";

const handlers = withPermissions(await loadSteps(steps));

export const loadStep = (name: string): StepHandler | undefined => handlers.get(name);

/** Hooks that run before or after the nth call of a step, such as `{"checkout/submit": [() => upload()]}`. */
type StepHooks = Readonly<Record<string, readonly (() => Promise<unknown>)[]>>;

type Options = {
  readonly before?: StepHooks;
  readonly after?: StepHooks;
};

/** Wraps the steps with hooks. Records their names, latest states and waits in seconds, and the size of the largest state. */
const interceptSteps = ({ before = {}, after = {} }: Options) => {
  const called: string[] = [];
  const states: Record<string, unknown> = {};
  const waits: number[] = [];
  let largestState = 0;
  const measured = <T>(state: T): T => {
    largestState = Math.max(largestState, Buffer.byteLength(JSON.stringify(state)));
    return state;
  };
  const load = (name: string): StepHandler | undefined => {
    const handler = loadStep(name);
    return (
      handler &&
      (async (state) => {
        const nth = called.filter((each) => each === name).length;
        called.push(name);
        states[name] = state;
        await before[name]?.[nth]?.();
        const result = measured(await handler(measured(state)));
        if ("wait_seconds" in result) waits.push(Number(result.wait_seconds));
        await after[name]?.[nth]?.();
        return result;
      })
    );
  };
  return { called, states, waits, load, stateBytes: () => largestState };
};

/**
 * The number of events in an execution's history on AWS. The execution is started and ended, a state entered and exited, and each
 * attempt of a task scheduled, started, and succeeded or failed.
 * Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
 */
const historyEvents = (entered: readonly string[], attempts: number): number =>
  2 + 2 * entered.length - entered.filter((type) => type === "Fail").length + 3 * attempts;

let runs = 0;

/** Runs an order's checkout with the workflow, with waits of 5 ms. */
export const checkOut = async (orderId: string, options: Options = {}, name = `test-${process.pid}-${++runs}`) => {
  const { called, states, waits, load, stateBytes } = interceptSteps(options);
  const entered: string[] = [];
  const workflow = startWorkflow({ load, onState: ({ type }) => entered.push(type), pauseMs: 5 });
  const execution = workflow.start(name, JSON.stringify({ order_id: orderId }));
  if (!execution) throw new Error(`the name ${name} is already used`);
  const { status, error, cause } = { error: null, cause: null, ...(await execution.ended) };
  // If another checkout of the order is running, it may be writing.
  if (error !== "AlreadyRunning") expect(await checkHistory(orderId), "the order's history").toEqual([]);
  return {
    status,
    error,
    cause,
    called,
    states,
    waits,
    events: historyEvents(entered, called.length),
    /** The number of entered states, for which Step Functions charges. */
    entered: entered.length,
    stateBytes: stateBytes(),
  };
};

/** Each receipt as "request attachment state", sorted. */
export const receipts = async (orderId: string) => {
  const report = await orderReport(orderId);
  return (report?.requests ?? [])
    .flatMap(({ id, attachments }) => attachments.map((each) => `${id} ${each.id} ${each.receipt?.state ?? "none"}`))
    .sort();
};

/** The state of an order, the outcome of its run, and whether it is sealed. */
export const stateOf = async (orderId: string) => {
  const report = await orderReport(orderId);
  const run = await readRun(orderId);
  return { state: report?.state, run: run?.status, sealed: Boolean(report?.seal), reason: run?.reason ?? null };
};
