import { serveEndpoints } from "./endpoints.ts";

/** The service in this process, once for all of its files: one service for all processes would keep them waiting. */
export const ownGateway = await serveEndpoints();
