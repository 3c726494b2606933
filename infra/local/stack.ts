import { type Step, steps } from "../../shared/checkout/steps.ts";
import { routes } from "../../shared/routes.ts";
import type { Prefill } from "../openapi/reference.ts";
import { type CarrierOptions, startCarrier } from "./carrier.ts";
import type { Data } from "./data.ts";
import { docs } from "./docs.ts";
import { startFiles } from "./files.ts";
import { type GatewayOptions, startGateway } from "./gateway.ts";
import { loadEndpoints, loadSteps } from "./handlers.ts";
import { type LambdaHandler, startLambda } from "./lambda.ts";
import { startStepFunctions } from "./step-functions.ts";
import { startTable } from "./table.ts";

type StackOptions = Pick<GatewayOptions, "port" | "throttle" | "onRequest"> & {
  /** The values that the API reference fills in, once they are known. */
  readonly prefill?: () => Prefill | undefined;
  /** Where data are stored. What is not given is in memory. */
  readonly data?: Partial<Pick<Data, "table" | "files" | "carts">>;
  /** The adapter function that the checkout invokes instead of the stand-in carrier. */
  readonly carrierFunction?: LambdaHandler | undefined;
  readonly onCarrierCall?: CarrierOptions["onCall"];
  /** Called when a service has exited that cannot be restarted. */
  readonly onEnd?: ((error: Error) => void) | undefined;
};

const tableName = "patchbay";
const bucketName = "patchbay-files";
const applyFunction = "patchbay-apply";
const adapterFunction = "carrier-function";
const credentials = {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
  AWS_SESSION_TOKEN: "",
  AWS_PROFILE: "",
};

/**
 * Sets the region and the credentials of this process, and returns them. The embedded services accept any. Those of the shell are
 * for AWS, and a profile may have none, so they are used only where the shell also names a DynamoDB or an S3.
 */
const useCredentials = (): Readonly<Record<string, string>> => {
  const isGiven = Boolean(process.env.AWS_ENDPOINT_URL_DYNAMODB || process.env.AWS_ENDPOINT_URL_S3);
  const used = Object.fromEntries(
    Object.entries(credentials).map(([name, own]) => [name, (isGiven && process.env[name]) || own]),
  );
  Object.assign(process.env, used);
  return used;
};

const apply: LambdaHandler = async (file, context) =>
  (await import("../../functions/tenants/apply.ts")).handler(file, context);

/** Starts the services that the functions use, on free ports, and returns the environment with their endpoints. */
const startServices = async (
  { data, onEnd, carrierFunction, onCarrierCall }: StackOptions,
  uploadOrigins: () => readonly string[],
) => {
  const functions = new Map([[applyFunction, apply]]);
  if (carrierFunction) functions.set(adapterFunction, carrierFunction);
  const [table, files, carrier, lambda] = await Promise.all([
    startTable(tableName, { dbPath: data?.table, onEnd }),
    startFiles(bucketName, { folder: data?.files, uploadOrigins }),
    startCarrier({ folder: data?.carts, onCall: onCarrierCall }),
    startLambda(functions),
  ]);
  const environment = {
    TABLE_NAME: tableName,
    BUCKET_NAME: bucketName,
    AWS_ENDPOINT_URL_DYNAMODB: table.endpoint,
    AWS_ENDPOINT_URL_S3: files.endpoint,
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    APPLY_FUNCTION_NAME: applyFunction,
    CARRIER_URL: carrier.url,
    CARRIER_FUNCTION: carrierFunction ? adapterFunction : "",
  };
  const stop = async () => {
    await Promise.all([table.stop(), files.stop(), carrier.close(), lambda.close()]);
  };
  return { environment, tableDoor: table.door, stop };
};

/** Starts the whole stack on this machine. Only the gateway's port is given; the others are free ports. */
export const startStack = async (options: StackOptions) => {
  const { port, throttle, onRequest, prefill = () => undefined } = options;
  const used = useCredentials();
  // The origin of the page is not known before the gateway's port.
  let origins: readonly string[] = [];
  const services = await startServices(options, () => origins);
  Object.assign(process.env, services.environment);
  try {
    const [endpoints, stepHandlers] = await Promise.all([loadEndpoints(routes), loadSteps(steps)]);
    const stepFunctions = await startStepFunctions({ load: (name: Step["name"]) => stepHandlers.get(name) });
    const load = ({ name }: { readonly name: string }) => endpoints.get(name);
    const extra = docs(prefill);
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
      ...used,
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
