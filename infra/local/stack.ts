import { routes } from "../../shared/routes.ts";
import { startCarrier } from "./carrier.ts";
import { docs, type Prefill } from "./docs.ts";
import { startFiles } from "./files.ts";
import { type GatewayOptions, type Handler, startGateway } from "./gateway.ts";
import { startTable } from "./table.ts";

export type StackOptions = Pick<GatewayOptions, "port" | "throttle" | "onRequest"> & {
  /** What the API reference fills in, once it is known. */
  readonly prefill?: () => Prefill | undefined;
};

const tableName = "patchbay";
const bucketName = "patchbay-files";

/** Handlers make their clients when they are imported: only after the environment says where the table is. */
const loadHandlers = async () => {
  const handlers = new Map<string, Handler>();
  const load = async (name: string) =>
    handlers.set(name, (await import(new URL(`../../functions/${name}.ts`, import.meta.url).href)).handler);
  await Promise.all(routes.map(({ name }) => load(name)));
  return handlers;
};

/** The whole service on this machine, on free ports but for the gateway's, ready for requests. */
export const startStack = async ({ port, throttle, onRequest, prefill = () => undefined }: StackOptions) => {
  const credentials = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  for (const [name, value] of Object.entries(credentials)) process.env[name] ??= value;
  const [table, files, carrier] = await Promise.all([startTable(tableName), startFiles(bucketName), startCarrier()]);
  const stopParts = async () => {
    await Promise.all([table.stop(), files.stop(), carrier.close()]);
  };
  const where = {
    TABLE_NAME: tableName,
    BUCKET_NAME: bucketName,
    DYNAMODB_ENDPOINT: table.endpoint,
    S3_ENDPOINT: files.endpoint,
  };
  Object.assign(process.env, where);
  try {
    const handlers = await loadHandlers();
    const gateway = await startGateway({
      routes,
      load: ({ name }) => handlers.get(name),
      port,
      throttle,
      onRequest,
      extra: docs(prefill),
    });
    const stop = async () => {
      await gateway.close();
      await stopParts();
    };
    return {
      url: gateway.url,
      port: gateway.port,
      tableName,
      bucketName,
      dynamodbEndpoint: table.endpoint,
      s3Endpoint: files.endpoint,
      carrierUrl: carrier.url,
      stop,
    };
  } catch (error) {
    await stopParts();
    throw error;
  }
};
