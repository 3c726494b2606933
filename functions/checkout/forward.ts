import { State } from "../../shared/checkout/checkout-schema.ts";
import { forwardOrder } from "../../shared/checkout/forward.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { forwardStep } from "../../shared/checkout/steps.ts";

export const handler = stepHandler(forwardStep, State, forwardOrder);
