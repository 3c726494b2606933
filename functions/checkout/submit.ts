import { State } from "../../shared/checkout/checkout-schema.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { submitStep } from "../../shared/checkout/steps.ts";
import { submitOrder } from "../../shared/checkout/submit.ts";

export const handler = stepHandler(submitStep, State, submitOrder);
