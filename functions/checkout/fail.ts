import * as z from "zod/mini";
import { failRun } from "../../shared/checkout/end.ts";
import { RunRef } from "../../shared/checkout/schema.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { fail } from "../../shared/checkout/steps.ts";

const Failure = z.object({ Error: z.string() });
const State = z.object({ ...RunRef.shape, reason: z.optional(z.string()), failure: z.optional(Failure) });

export const handler = stepHandler(fail, State, async ({ reason, failure, ...ref }) => ({
  ...ref,
  ...(await failRun(ref, reason ?? `A step failed: ${failure?.Error ?? "unknown"}; its log says why.`, new Date())),
}));
