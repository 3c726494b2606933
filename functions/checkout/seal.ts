import { RequestPage } from "../../shared/checkout/schema.ts";
import { sealPage } from "../../shared/checkout/seal.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { seal } from "../../shared/checkout/steps.ts";

export const handler = stepHandler(seal, RequestPage, sealPage);
