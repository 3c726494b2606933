import { finishRun } from "../../shared/checkout/end.ts";
import { RunRef } from "../../shared/checkout/schema.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { finish } from "../../shared/checkout/steps.ts";

export const handler = stepHandler(finish, RunRef, async (ref) => {
  const reason = await finishRun(ref, new Date());
  return reason === null ? ref : { ...ref, reason };
});
