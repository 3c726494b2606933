import * as z from "zod/mini";
import { beginRun } from "../../shared/checkout/checkout-run.ts";
import { State } from "../../shared/checkout/checkout-schema.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { beginStep } from "../../shared/checkout/steps.ts";

const Input = z.pick(State, { order_id: true });

export const handler = stepHandler(beginStep, Input, (ref) => beginRun(ref, new Date()));
