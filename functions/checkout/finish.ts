import { finishRun } from "../../shared/checkout/end.ts";
import { step } from "../../shared/checkout/step.ts";
import { RunRef } from "../../shared/schemas/checkout.ts";
import { finish } from "../../shared/steps.ts";

export const handler = step(finish, RunRef, async (ref) => {
  await finishRun(ref, new Date());
  return ref;
});
