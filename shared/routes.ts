import { attachmentContract } from "./attachments/contract.ts";
import type { Contract, DocumentedRoute } from "./route.ts";
import { switchContract } from "./switches/contract.ts";

/** The contracts of all domains. No function loads this file. */
export const contracts: readonly Contract[] = [attachmentContract, switchContract];

/** The route table, which has every endpoint of the interface. */
export const routes: readonly DocumentedRoute[] = contracts.flatMap((contract) => contract.routes);
