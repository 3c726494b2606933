import * as z from "zod/mini";
import { step } from "../../shared/checkout/step.ts";
import { submitCart } from "../../shared/checkout/submit.ts";
import { RunRef } from "../../shared/schemas/checkout.ts";
import { submit } from "../../shared/steps.ts";

const State = z.object({ ...RunRef.shape, waits: z._default(z.number(), 0) });

export const handler = step(submit, State, ({ waits, ...ref }) => submitCart(ref, waits));
