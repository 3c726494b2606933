import * as z from "zod/mini";
import { RunRef } from "../../shared/checkout/checkout-schema.ts";
import { submitCart } from "../../shared/checkout/end.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { submitStep } from "../../shared/checkout/steps.ts";

const State = z.object({ ...RunRef.shape, consecutive_waits: z._default(z.number(), 0) });

export const handler = stepHandler(submitStep, State, ({ consecutive_waits, ...ref }) =>
  submitCart(ref, consecutive_waits, new Date()),
);
