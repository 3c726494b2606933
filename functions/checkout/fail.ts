import * as z from "zod/mini";
import { failRun } from "../../shared/checkout/checkout-run.ts";
import { State } from "../../shared/checkout/checkout-schema.ts";
import { countFailure } from "../../shared/checkout/metrics.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { failStep } from "../../shared/checkout/steps.ts";

/** `failure` is present if a step has thrown. `reason` is present if a step has returned FAIL with a reason. */
const Failed = z.object({
  order_id: State.shape.order_id,
  reason: z.optional(z.nullable(z.string())),
  failure: z.optional(z.object({ Error: z.string() })),
});

export const handler = stepHandler(failStep, Failed, async ({ reason, failure, ...ref }) => {
  const thrown = failure && `A step failed: ${failure.Error}. See its log.`;
  const failed = await failRun(ref, reason ?? thrown ?? "The run has lost the order's lock.", new Date());
  countFailure(ref, failed.kind);
  return failed;
});
