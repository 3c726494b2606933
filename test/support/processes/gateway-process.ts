import { startGateway } from "../../../infra/local/gateway.ts";
import { loadEndpoints } from "../../../infra/local/handlers.ts";
import { routes } from "../../../shared/routes.ts";

/** Runs the gateway and the functions in a process that can be killed. Prints its URL. */
const handlers = await loadEndpoints(routes);
const { url } = await startGateway({ routes, load: ({ name }) => handlers.get(name), port: 0 });
console.log(url);
