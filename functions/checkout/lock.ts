import { startRun } from "../../shared/checkout/checkout-run.ts";
import { RunRef } from "../../shared/checkout/checkout-schema.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { lockStep } from "../../shared/checkout/steps.ts";

export const handler = stepHandler(lockStep, RunRef, async (ref) => ({ ...ref, ...(await startRun(ref, new Date())) }));
