import * as z from "zod/mini";
import { endRound, Round, RoundResults } from "../../shared/checkout/seal.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { sealOrderStep } from "../../shared/checkout/steps.ts";

const { order_id, run, version } = Round.shape;
const State = z.object({ order_id, run, version, passes_left: z.number(), results: RoundResults });

export const handler = stepHandler(sealOrderStep, State, ({ passes_left, results, ...round }) =>
  endRound(round, passes_left, results),
);
