import { RequestPage } from "../../shared/checkout/checkout-schema.ts";
import { sealPage } from "../../shared/checkout/seal.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { sealStep } from "../../shared/checkout/steps.ts";

export const handler = stepHandler(sealStep, RequestPage, sealPage);
