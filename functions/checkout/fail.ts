import * as z from "zod/mini";
import { RunRef } from "../../shared/checkout/checkout-schema.ts";
import { failRun } from "../../shared/checkout/end.ts";
import { countFailure } from "../../shared/checkout/metrics.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { failStep } from "../../shared/checkout/steps.ts";

const Failure = z.object({ Error: z.string() });
const State = z.object({ ...RunRef.shape, reason: z.optional(z.string()), failure: z.optional(Failure) });

const textOf = (failure: z.infer<typeof Failure> | undefined) =>
  failure ? `A step failed: ${failure.Error}; its log says why.` : "The run has lost the order's lock.";

export const handler = stepHandler(failStep, State, async ({ reason, failure, ...ref }) => {
  const failed = await failRun(ref, reason ?? textOf(failure), new Date());
  countFailure(ref, "fault");
  return { ...ref, ...failed };
});
