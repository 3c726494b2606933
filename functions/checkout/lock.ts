import { startRun } from "../../shared/checkout/run.ts";
import { RunRef } from "../../shared/checkout/schema.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { lock } from "../../shared/checkout/steps.ts";

export const handler = stepHandler(lock, RunRef, async (ref) => ({ ...ref, ...(await startRun(ref, new Date())) }));
