import * as z from "zod/mini";
import { limits } from "../../shared/checkout/limits.ts";
import { RunRef } from "../../shared/checkout/schema.ts";
import { beginRound } from "../../shared/checkout/seal.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { gather } from "../../shared/checkout/steps.ts";

const State = z.object({ ...RunRef.shape, loops: z._default(z.number(), limits.loops) });

export const handler = stepHandler(gather, State, async (state) => ({
  ...(await beginRound(state, state.loops)),
  loops: state.loops,
}));
