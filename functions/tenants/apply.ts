import { applyFunction } from "../../shared/tenants/apply-function.ts";

/** For the system of record of customers. Its invokers can create an API key for any account. */
export const handler = applyFunction("apply");
