import { forwardPage } from "../../shared/checkout/forward-page.ts";
import { step } from "../../shared/checkout/step.ts";
import { RequestPage } from "../../shared/schemas/checkout.ts";
import { forward } from "../../shared/steps.ts";

export const handler = step(forward, RequestPage, forwardPage);
