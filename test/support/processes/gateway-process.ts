import { startGateway } from "../../../infra/local/gateway.ts";
import { loadEndpoints } from "../../../infra/local/handlers.ts";
import { routes } from "../../../shared/routes.ts";

/** The gateway and the functions in a process of their own, to be killed; its first line is its URL. */
const handlers = await loadEndpoints(routes);
const { url } = await startGateway({ routes, load: ({ name }) => handlers.get(name), port: 0 });
console.log(url);
