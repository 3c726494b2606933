import * as z from "zod/mini";
import { beginRun } from "../../shared/checkout/checkout-run.ts";
import { State } from "../../shared/checkout/checkout-schema.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { beginStep } from "../../shared/checkout/steps.ts";
import { noId } from "../../shared/schema/fields.ts";

/** Any other input is that of an order that does not exist. */
const Input = z.catch(z.pick(State, { order_id: true }), { order_id: noId });

export const handler = stepHandler(beginStep, Input, (ref) => beginRun(ref, new Date()));
