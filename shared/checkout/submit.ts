import type { Outcome } from "./carrier.ts";
import { limits, pauseSeconds } from "./limits.ts";
import { noteRun, readRun, stopRun } from "./run.ts";
import type { RunRef } from "./schema.ts";
import { checkOutUpstream } from "./upstream.ts";

export type Submitted = RunRef & {
  readonly outcome: "DONE" | "WAIT" | "FAILED";
  readonly waits: number;
  readonly wait_seconds: number;
};

/**
 * Checks out the upstream cart. That it was asked for is written down before, and stays until the carrier has said what
 * became of it: a run that finds it so repeats this call before anything else, with the same key.
 */
export const submitCart = async (ref: RunRef, waits: number): Promise<Submitted> => {
  const ended = (outcome: "DONE" | "FAILED") => ({ ...ref, outcome, waits, wait_seconds: 0 });
  const doubtedBefore = (await readRun(ref.order_id))?.asked ?? false;
  if (!(await noteRun(ref, { asked: true }))) return ended("FAILED");
  const answer = await checkOutUpstream(ref.order_id);
  if (answer.kind === "done") return ended("DONE");
  const asked = remainsInDoubt(answer, doubtedBefore);
  if (answer.kind === "refused") {
    await stopRun(ref, `The carrier refused to check the cart out: ${answer.status} ${answer.answer}`.trim(), {
      asked,
    });
    return ended("FAILED");
  }
  if (waits >= limits.waits) {
    await stopRun(ref, `The carrier was away too long to check the cart out: ${answer.reason}.`, { asked });
    return ended("FAILED");
  }
  await noteRun(ref, { asked });
  return {
    ...ref,
    outcome: "WAIT",
    waits: waits + 1,
    wait_seconds: pauseSeconds(waits, answer.wait_seconds, Math.random),
  };
};

/** Refusals for the sake of the caller: the carrier has not looked at the cart. */
const aboutTheCaller = [401, 403, 407];

const remainsInDoubt = (answer: Exclude<Outcome, { kind: "done" }>, doubtedBefore: boolean): boolean => {
  if (answer.kind === "refused" && !aboutTheCaller.includes(answer.status)) return false;
  return doubtedBefore || answer.doubted;
};
