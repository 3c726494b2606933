import { RunRef } from "../../shared/checkout/checkout-schema.ts";
import { finishRun } from "../../shared/checkout/end.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { finishStep } from "../../shared/checkout/steps.ts";

export const handler = stepHandler(finishStep, RunRef, async (ref) => {
  const reason = await finishRun(ref, new Date());
  return reason === null ? ref : { ...ref, reason };
});
