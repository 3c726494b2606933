import { docs } from "../../infra/local/docs.ts";
import { type Handler, startGateway } from "../../infra/local/gateway.ts";
import { routes } from "../../shared/routes.ts";
import { tenants } from "./tenants.ts";

/** A local gateway with the API reference and a demo of its own, on the table of all tests. */
export const startDemo = async () => {
  const t = await tenants();
  const ids = { account_id: t.account("acme"), order_id: t.order("acme"), request_id: t.request("acme") };
  const demo = { key: t.key("acme"), ids };
  const handlers = new Map<string, Handler>();
  for (const { name } of routes)
    handlers.set(name, (await import(new URL(`../../functions/${name}.ts`, import.meta.url).href)).handler);
  const gateway = await startGateway({
    routes,
    load: ({ name }) => handlers.get(name),
    port: 0,
    extra: docs(() => demo),
  });
  return { url: gateway.url, demo, stop: gateway.close };
};
