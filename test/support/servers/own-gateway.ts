import { serveEndpoints } from "./endpoints.ts";

/** The service of this process, for all of its test files. A single service for all processes would keep them waiting. */
export const ownGateway = await serveEndpoints();
