import { finishRun } from "../../shared/checkout/end.ts";
import { RunRef } from "../../shared/checkout/schema.ts";
import { step } from "../../shared/checkout/step.ts";
import { finish } from "../../shared/checkout/steps.ts";

export const handler = step(finish, RunRef, async (ref) => {
  await finishRun(ref, new Date());
  return ref;
});
