import { routes } from "../../shared/routes.ts";
import { startFiles } from "./files.ts";
import { type GatewayOptions, type Handler, startGateway } from "./gateway.ts";
import { startTable } from "./table.ts";

export type StackOptions = Pick<GatewayOptions, "port" | "throttle" | "onRequest">;

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
export const startStack = async ({ port, throttle, onRequest }: StackOptions) => {
  const credentials = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  for (const [name, value] of Object.entries(credentials)) process.env[name] ??= value;
  const [table, files] = await Promise.all([startTable(tableName), startFiles(bucketName)]);
  const stopParts = async () => {
    await Promise.all([table.stop(), files.stop()]);
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
    const gateway = await startGateway({ routes, load: ({ name }) => handlers.get(name), port, throttle, onRequest });
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
      carrierUrl: "",
      stop,
    };
  } catch (error) {
    await stopParts();
    throw error;
  }
};
