import { takeRun } from "../../shared/checkout/run.ts";
import { step } from "../../shared/checkout/step.ts";
import { RunRef } from "../../shared/schemas/checkout.ts";
import { load } from "../../shared/steps.ts";

export const handler = step(load, RunRef, async (ref) => ({ ...ref, ...(await takeRun(ref, new Date())) }));
