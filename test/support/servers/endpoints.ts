import { type GatewayOptions, startGateway } from "../../../infra/local/gateway.ts";
import { loadEndpoints } from "../../../infra/local/handlers.ts";
import { routes } from "../../../shared/routes.ts";
import { withPermissions } from "./permissions.ts";

/** Serves all endpoints in this process, each with the permissions of its function. */
export const serveEndpoints = async (options: Partial<GatewayOptions> = {}) => {
  const handlers = withPermissions(await loadEndpoints(routes));
  return startGateway({ routes, load: ({ name }) => handlers.get(name), port: 0, ...options });
};
