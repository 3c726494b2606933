import type { WorkflowEvent } from "../../../infra/local/step-functions.ts";

/**
 * The number of events that AWS writes into an execution's history for one event of the local run. A task is entered, scheduled,
 * started, succeeded or failed, and exited. All else is entered and exited.
 * Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
 */
export const historyEvents = (event: WorkflowEvent): number => {
  if (event.type === "StateRetried") return 2;
  // A failed task has no success event, although StateExited counts one.
  if (event.type === "StateCaught") return -1;
  if (event.type === "StateEntered") return event.state.type === "Task" ? 3 : 1;
  if (event.type === "StateExited") return event.state.type === "Task" ? 2 : 1;
  if (event.type === "StateFailed") return event.state.type === "Task" ? 1 : 0;
  return 1;
};
