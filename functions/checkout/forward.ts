import { forwardPage } from "../../shared/checkout/forward.ts";
import { RequestPage } from "../../shared/checkout/schema.ts";
import { step } from "../../shared/checkout/step.ts";
import { forward } from "../../shared/checkout/steps.ts";

export const handler = step(forward, RequestPage, forwardPage);
