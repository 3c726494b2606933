import type { APIGatewayProxyEvent } from "aws-lambda";
import { startCarrier } from "../../infra/local/carrier.ts";
import { startFiles } from "../../infra/local/files.ts";
import type { Handler } from "../../infra/local/gateway.ts";
import { startTable } from "../../infra/local/table.ts";
import type { Prepared } from "../support/measured.ts";

/** The embedded parts and the service on them, for benchmarks: real servers, on free ports, stopped at the end. */
export const benchService = async () => {
  const aws = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  Object.assign(process.env, aws);
  const [table, files, carrier] = await Promise.all([startTable("patchbay"), startFiles("files"), startCarrier()]);
  const environment = {
    TABLE_NAME: "patchbay",
    BUCKET_NAME: "files",
    DYNAMODB_ENDPOINT: table.endpoint,
    S3_ENDPOINT: files.endpoint,
    CARRIER_URL: carrier.url,
    ...aws,
    LOG_LEVEL: "SILENT",
  };
  Object.assign(process.env, environment);
  // Clients are made when these are imported: only after the environment says where everything is.
  const { routes } = await import("../../shared/routes.ts");
  const { startGateway } = await import("../../infra/local/gateway.ts");
  const { tenants } = await import("../support/tenants.ts");
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
      await Promise.all([table.stop(), files.stop(), carrier.close()]);
    },
  };
};
export type BenchService = Awaited<ReturnType<typeof benchService>>;
