import * as z from "zod/mini";
import { submitCart } from "../../shared/checkout/end.ts";
import { RunRef } from "../../shared/checkout/schema.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { submit } from "../../shared/checkout/steps.ts";

const State = z.object({ ...RunRef.shape, consecutive_waits: z._default(z.number(), 0) });

export const handler = stepHandler(submit, State, ({ consecutive_waits, ...ref }) =>
  submitCart(ref, consecutive_waits, new Date()),
);
