import { startGateway } from "../../../infra/local/gateway.ts";
import { loadEndpoints } from "../../../infra/local/handlers.ts";
import { routes } from "../../../shared/routes.ts";
import { withPermissions } from "./permissions.ts";

const handlers = withPermissions(await loadEndpoints(routes));

/** The service in this process, once for all of its files: one service for all processes would keep them waiting. */
export const ownGateway = await startGateway({ routes, load: ({ name }) => handlers.get(name), port: 0 });
