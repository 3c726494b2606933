import { type Step, steps } from "../../shared/checkout/steps.ts";
import { routes } from "../../shared/routes.ts";
import { type CarrierOptions, startCarrier } from "./carrier.ts";
import type { Data } from "./data.ts";
import { docs, type Prefill } from "./docs.ts";
import { startFiles } from "./files.ts";
import { type GatewayOptions, startGateway } from "./gateway.ts";
import { loadEndpoints, loadSteps } from "./handlers.ts";
import { startStepFunctions } from "./step-functions.ts";
import { startTable } from "./table.ts";

type StackOptions = Pick<GatewayOptions, "port" | "throttle" | "onRequest"> & {
  /** The values that the API reference fills in, once they are known. */
  readonly prefill?: () => Prefill | undefined;
  /** Where data are stored. Without it, they are in memory. */
  readonly data?: Pick<Data, "table" | "files" | "carts"> | undefined;
  /** Called after each call to the stand-in carrier. */
  readonly onCarrierCall?: CarrierOptions["onCall"];
  /** Called when a service has exited that cannot be restarted. */
  readonly onEnd?: ((error: Error) => void) | undefined;
};

const tableName = "patchbay";
const bucketName = "patchbay-files";

/** Starts the services that the functions use, on free ports, and returns the environment with their endpoints. */
const startServices = async ({ data, onEnd, onCarrierCall }: StackOptions, uploadOrigins: () => readonly string[]) => {
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
  return { environment, tableDoor: table.door, stop };
};

/** Starts the whole stack on this machine. Only the gateway's port is given; the others are free ports. */
export const startStack = async (options: StackOptions) => {
  const { port, throttle, onRequest, prefill = () => undefined } = options;
  const defaults = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  for (const [name, value] of Object.entries(defaults)) process.env[name] ??= value;
  // The origin of the page is not known before the gateway's port.
  let origins: readonly string[] = [];
  const services = await startServices(options, () => origins);
  Object.assign(process.env, services.environment);
  try {
    const [endpoints, stepHandlers] = await Promise.all([loadEndpoints(routes), loadSteps(steps)]);
    const stepFunctions = await startStepFunctions({ load: (name: Step["name"]) => stepHandlers.get(name) });
    const load = ({ name }: { readonly name: string }) => endpoints.get(name);
    const extra = docs({ prefill, storage: new URL(services.environment.AWS_ENDPOINT_URL_S3).origin });
    const gateway = await startGateway({ routes, load, port, throttle, onRequest, extra }).catch(
      async (error: unknown) => {
        await stepFunctions.stop();
        throw error;
      },
    );
    origins = [gateway.url, `http://localhost:${gateway.port}`];
    const stop = async () => {
      await gateway.close();
      await stepFunctions.stop();
      await services.stop();
    };
    const environment = {
      ...services.environment,
      AWS_ENDPOINT_URL_DYNAMODB: services.tableDoor,
      AWS_ENDPOINT_URL_SFN: stepFunctions.endpoint,
      STATE_MACHINE_ARN: stepFunctions.stateMachineArn,
    };
    return { url: gateway.url, port: gateway.port, environment, stop };
  } catch (error) {
    await services.stop();
    throw error;
  }
};
