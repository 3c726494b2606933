import { applyFunction } from "../../shared/tenants/apply-function.ts";

/** For ordering systems, which can neither create nor change an account, a user or an API key. */
export const handler = applyFunction("apply-orders", ["orders", "requests"]);
