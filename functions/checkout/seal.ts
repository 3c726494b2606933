import { sealPage } from "../../shared/checkout/seal.ts";
import { step } from "../../shared/checkout/step.ts";
import { RequestPage } from "../../shared/schemas/checkout.ts";
import { seal } from "../../shared/steps.ts";

export const handler = step(seal, RequestPage, sealPage);
