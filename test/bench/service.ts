import type { Handler } from "../../infra/local/gateway.ts";
import type { GatewayEvent } from "../../shared/http/request.ts";
import type { EndpointRequest } from "../support/requests/request-per-endpoint.ts";
import { startParts } from "./parts.ts";

/** Starts the service with the embedded DynamoDB and S3, on free ports. */
export const benchService = async (latencyMs = 0) => {
  const { environment, stop } = await startParts(latencyMs);
  // These are imported only after the environment has the addresses.
  const { routes } = await import("../../shared/routes.ts");
  const { loadEndpoints } = await import("../../infra/local/handlers.ts");
  const { startGateway } = await import("../../infra/local/gateway.ts");
  const { tenants } = await import("../support/fixtures/tenants.ts");
  const handlers = await loadEndpoints(routes);
  let capture: Handler | undefined;
  const gateway = await startGateway({ routes, load: ({ name }) => capture ?? handlers.get(name), port: 0 });
  const send = ({ method, path, init }: EndpointRequest) => fetch(gateway.url + path, { ...init, method });
  const t = await tenants();
  return {
    environment,
    handlers,
    url: gateway.url,
    send,
    place: { key: t.key("acme"), request: t.request("acme"), order: t.order("acme"), account: t.account("east") },
    /** The event that the gateway passes to the function. */
    eventOf: async (request: EndpointRequest): Promise<GatewayEvent> => {
      const events: GatewayEvent[] = [];
      capture = async (event) => {
        events.push(event);
        return { statusCode: 200, body: "{}" };
      };
      await send(request);
      capture = undefined;
      const [event] = events;
      if (!event) throw new Error(`${request.method} ${request.path} reached no function`);
      return event;
    },
    close: async () => {
      await gateway.close();
      await stop();
    },
  };
};
export type BenchService = Awaited<ReturnType<typeof benchService>>;
