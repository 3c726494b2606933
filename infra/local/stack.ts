import { type Step, steps } from "../../shared/checkout/steps.ts";
import { routes } from "../../shared/routes.ts";
import { startCarrier } from "./carrier.ts";
import type { Data } from "./data.ts";
import { docs, type Prefill } from "./docs.ts";
import { startFiles } from "./files.ts";
import { type GatewayOptions, type Handler, startGateway } from "./gateway.ts";
import { startStepFunctions } from "./step-functions.ts";
import { startTable } from "./table.ts";
import type { StepHandler } from "./workflow.ts";

export type StackOptions = Pick<GatewayOptions, "port" | "throttle" | "onRequest"> & {
  /** What the API reference fills in, once it is known. */
  readonly prefill?: () => Prefill | undefined;
  /** Where data is kept between runs, if it is. */
  readonly data?: Pick<Data, "table" | "files"> | undefined;
};

const tableName = "patchbay";
const bucketName = "patchbay-files";

/** Handlers make their clients when they are imported: only after the environment says where the table is. */
const loadHandlers = async <H>(named: readonly { readonly name: string }[]) => {
  const load = async ({ name }: { readonly name: string }): Promise<readonly [string, H]> => {
    const { handler }: { handler: H } = await import(new URL(`../../functions/${name}.ts`, import.meta.url).href);
    return [name, handler];
  };
  return new Map(await Promise.all(named.map(load)));
};

/** The parts that functions talk to, on free ports, and the environment that says where they are. */
const startParts = async (data: StackOptions["data"]) => {
  const [table, files, carrier] = await Promise.all([
    startTable(tableName, data?.table),
    startFiles(bucketName, data?.files),
    startCarrier(),
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
  const { port, throttle, onRequest, prefill = () => undefined, data } = options;
  const defaults = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  for (const [name, value] of Object.entries(defaults)) process.env[name] ??= value;
  const parts = await startParts(data);
  Object.assign(process.env, parts.environment);
  try {
    const [endpoints, stepHandlers] = await Promise.all([
      loadHandlers<Handler>(routes),
      loadHandlers<StepHandler>(steps),
    ]);
    const stepFunctions = await startStepFunctions({ load: (name: Step["name"]) => stepHandlers.get(name) });
    const load = ({ name }: { readonly name: string }) => endpoints.get(name);
    const gateway = await startGateway({ routes, load, port, throttle, onRequest, extra: docs(prefill) }).catch(
      async (error: unknown) => {
        await stepFunctions.stop();
        throw error;
      },
    );
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
