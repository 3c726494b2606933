import * as z from "zod/mini";
import { endRound, Round, RoundResults } from "../../shared/checkout/seal.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { close } from "../../shared/checkout/steps.ts";

const { order_id, run, version } = Round.shape;
const State = z.object({ order_id, run, version, loops: z.number(), results: RoundResults });

export const handler = stepHandler(close, State, ({ loops, results, ...round }) => endRound(round, loops, results));
