import { forwardPage } from "../../shared/checkout/forward.ts";
import { RequestPage } from "../../shared/checkout/schema.ts";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { forward } from "../../shared/checkout/steps.ts";

export const handler = stepHandler(forward, RequestPage, forwardPage);
