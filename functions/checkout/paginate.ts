import * as z from "zod/mini";
import { RunRef } from "../../shared/checkout/checkout-schema.ts";
import { checkoutLimits } from "../../shared/checkout/limits.ts";
import { beginRound } from "../../shared/checkout/seal.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { paginateStep } from "../../shared/checkout/steps.ts";

const State = z.object({ ...RunRef.shape, passes_left: z._default(z.number(), checkoutLimits.passes) });

export const handler = stepHandler(paginateStep, State, async (state) => ({
  ...(await beginRound(state, state.passes_left)),
  passes_left: state.passes_left,
}));
