import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Handler } from "../../infra/local/gateway.ts";
import type { Prepared } from "../support/servers/measured.ts";
import { startParts } from "./parts.ts";

/** The service on the embedded parts, for benchmarks: real servers, on free ports, stopped at the end. */
export const benchService = async (latencyMs = 0) => {
  const { environment, stop } = await startParts(latencyMs);
  // Clients are made when these are imported: only after the environment says where everything is.
  const { routes } = await import("../../shared/routes.ts");
  const { startGateway } = await import("../../infra/local/gateway.ts");
  const { tenants } = await import("../support/fixtures/tenants.ts");
  const handlers = new Map<string, Handler>();
  for (const { name } of routes)
    handlers.set(name, (await import(new URL(`../../functions/${name}.ts`, import.meta.url).href)).handler);
  let captured: APIGatewayProxyEvent | undefined;
  let capturing = false;
  const capture: Handler = async (event) => {
    captured = event;
    return { statusCode: 200, body: "{}" };
  };
  const gateway = await startGateway({
    routes,
    load: ({ name }) => (capturing ? capture : handlers.get(name)),
    port: 0,
  });
  const send = ({ method, path, init }: Prepared) => fetch(gateway.url + path, { ...init, method });
  const t = await tenants();
  return {
    environment,
    handlers,
    url: gateway.url,
    send,
    place: { key: t.key("acme"), request: t.request("acme"), order: t.order("acme"), account: t.account("east") },
    /** The event that the gateway would hand to the function. */
    eventOf: async (prepared: Prepared): Promise<APIGatewayProxyEvent> => {
      capturing = true;
      await send(prepared);
      capturing = false;
      if (!captured) throw new Error(`${prepared.method} ${prepared.path} reached no function`);
      return captured;
    },
    close: async () => {
      await gateway.close();
      await stop();
    },
  };
};
export type BenchService = Awaited<ReturnType<typeof benchService>>;
