import { takeRun } from "../../shared/checkout/run.ts";
import { RunRef } from "../../shared/checkout/schema.ts";
import { step } from "../../shared/checkout/step.ts";
import { load } from "../../shared/checkout/steps.ts";

export const handler = step(load, RunRef, async (ref) => ({ ...ref, ...(await takeRun(ref, new Date())) }));
