import { type Step, steps } from "../../shared/checkout/steps.ts";
import { routes } from "../../shared/routes.ts";
import { type CarrierOptions, startCarrier } from "./carrier.ts";
import type { Data } from "./data.ts";
import { docs, type Prefill } from "./docs.ts";
import { startFiles } from "./files.ts";
import { isFromHere } from "./from-here.ts";
import { type GatewayOptions, startGateway } from "./gateway.ts";
import { loadEndpoints, loadSteps } from "./handlers.ts";
import { startStepFunctions } from "./step-functions.ts";
import { startTable } from "./table.ts";

type StackOptions = Pick<GatewayOptions, "port" | "throttle" | "onRequest"> & {
  /** What the API reference fills in, once it is known. */
  readonly prefill?: () => Prefill | undefined;
  /** Where data is kept between runs, if it is. */
  readonly data?: Pick<Data, "table" | "files" | "carts"> | undefined;
  /** Called with each call that the stand-in carrier has served. */
  readonly onCarrierCall?: CarrierOptions["onCall"];
  /** Called when a part has ended that cannot be started again. */
  readonly onEnd?: ((error: Error) => void) | undefined;
};

const tableName = "patchbay";
const bucketName = "patchbay-files";

/** The API reference; the key that it fills in is for this machine's user alone. */
const extra = (prefill: () => Prefill | undefined, storage: string): GatewayOptions["extra"] => {
  const page = docs({ prefill, storage });
  return (incoming, outgoing, url) =>
    (url.pathname !== "/docs/demo.json" || isFromHere(incoming)) && page(incoming, outgoing, url);
};

/** The parts that functions talk to, on free ports, and the environment that says where they are. */
const startParts = async ({ data, onEnd, onCarrierCall }: StackOptions, uploadOrigins: () => readonly string[]) => {
  const [table, files, carrier] = await Promise.all([
    startTable(tableName, { dbPath: data?.table, onEnd }),
    startFiles(bucketName, { folder: data?.files, uploadOrigins }),
    startCarrier({ folder: data?.carts, onCall: onCarrierCall }),
  ]);
  const environment = {
    TABLE_NAME: tableName,
    BUCKET_NAME: bucketName,
    AWS_ENDPOINT_URL_DYNAMODB: table.endpoint,
    AWS_ENDPOINT_URL_S3: files.endpoint,
    CARRIER_URL: carrier.url,
  };
  const stop = async () => {
    await Promise.all([table.stop(), files.stop(), carrier.close()]);
  };
  return { environment, stop };
};

/** The whole service on this machine, on free ports but for the gateway's, ready for requests. */
export const startStack = async (options: StackOptions) => {
  const { port, throttle, onRequest, prefill = () => undefined } = options;
  const defaults = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  for (const [name, value] of Object.entries(defaults)) process.env[name] ??= value;
  /** The page's, once the gateway's port is known. */
  let origins: readonly string[] = [];
  const parts = await startParts(options, () => origins);
  Object.assign(process.env, parts.environment);
  try {
    const [endpoints, stepHandlers] = await Promise.all([loadEndpoints(routes), loadSteps(steps)]);
    const stepFunctions = await startStepFunctions({ load: (name: Step["name"]) => stepHandlers.get(name) });
    const load = ({ name }: { readonly name: string }) => endpoints.get(name);
    const page = extra(prefill, new URL(parts.environment.AWS_ENDPOINT_URL_S3).origin);
    const gateway = await startGateway({ routes, load, port, throttle, onRequest, extra: page }).catch(
      async (error: unknown) => {
        await stepFunctions.stop();
        throw error;
      },
    );
    origins = [gateway.url, `http://localhost:${gateway.port}`];
    const stop = async () => {
      await gateway.close();
      await stepFunctions.stop();
      await parts.stop();
    };
    const environment = {
      ...parts.environment,
      AWS_ENDPOINT_URL_SFN: stepFunctions.endpoint,
      STATE_MACHINE_ARN: stepFunctions.stateMachineArn,
    };
    return { url: gateway.url, port: gateway.port, environment, stop };
  } catch (error) {
    await parts.stop();
    throw error;
  }
};
