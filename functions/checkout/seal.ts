import { RequestPage } from "../../shared/checkout/schema.ts";
import { sealPage } from "../../shared/checkout/seal.ts";
import { step } from "../../shared/checkout/step.ts";
import { seal } from "../../shared/checkout/steps.ts";

export const handler = step(seal, RequestPage, sealPage);
