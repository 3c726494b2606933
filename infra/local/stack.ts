import { handler as apply } from "../../functions/tenants/apply.ts";
import { handler as applyOrders } from "../../functions/tenants/apply-orders.ts";
import { steps } from "../../shared/checkout/steps.ts";
import { routes } from "../../shared/routes.ts";
import { mapped } from "../../shared/schema/fields.ts";
import type { Prefill } from "../openapi/reference.ts";
import { startCarrier } from "./carrier.ts";
import type { Data } from "./data.ts";
import { docs } from "./docs.ts";
import { type FilesOptions, startFiles } from "./files.ts";
import { type GatewayOptions, startGateway } from "./gateway.ts";
import { loadEndpoints, loadSteps } from "./handlers.ts";
import { type LambdaHandler, startLambda } from "./lambda.ts";
import { blockedPorts, isFree } from "./listen.ts";
import { startStepFunctions } from "./step-functions.ts";
import { startTable } from "./table.ts";
import type { terminal } from "./terminal.ts";

/** The options that `npm start` can set. */
export type StackChoices = Pick<GatewayOptions, "port" | "throttle"> &
  Pick<FilesOptions, "uploadOrigins"> & {
    /** The carrier that checkouts call. Without it, the simulated carrier is started. */
    readonly carrierUrl?: string | undefined;
    /** The adapter function that checkouts invoke instead of calling the carrier. */
    readonly carrierFunction?: LambdaHandler | undefined;
    /** Whether files are scanned for malware, and only clean ones are forwarded. */
    readonly malwareScan?: boolean;
  };

type StackOptions = StackChoices & {
  /** Prints requests, calls and steps. */
  readonly lines?: ReturnType<typeof terminal>;
  /** The values that the API reference fills in, once they are known. */
  readonly prefill?: () => Prefill | undefined;
  /** Where data are stored. Data without a path are temporary. */
  readonly data?: Partial<Pick<Data, "table" | "files" | "carts">>;
  /** Called when a service has exited and cannot be restarted. */
  readonly onEnd?: (error: Error) => void;
};

const tableName = "patchbay";
const bucketName = "patchbay-files";
const functionNames = { apply: "patchbay-apply", ordering: "patchbay-apply-orders", adapter: "carrier-function" };
const credentials = {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
  AWS_SESSION_TOKEN: "",
  AWS_PROFILE: "",
};

/** The embedded S3 accepts only these. The shell's are for AWS, so they are used only if the shell also names a DynamoDB or an S3. */
const useCredentials = (): Readonly<Record<string, string>> => {
  const isGiven = Boolean(process.env.AWS_ENDPOINT_URL_DYNAMODB || process.env.AWS_ENDPOINT_URL_S3);
  const used = mapped(credentials, (own, name) => (isGiven && process.env[name]) || own);
  Object.assign(process.env, used);
  return used;
};

const reporting =
  (adapter: LambdaHandler, lines: StackOptions["lines"]): LambdaHandler =>
  async (event, context) => {
    try {
      const answer = await adapter(event, context);
      lines?.adapterCall({ event, answer });
      return answer;
    } catch (error) {
      lines?.adapterCall({ event, error });
      throw error;
    }
  };

/** The other services, in the order of the ports that follow the gateway's. */
const serviceNames = ["carrier", "events", "lambda", "workflow", "table", "files"] as const;

/** Using the same ports at each start keeps signed URLs and stored addresses valid. A port in use is replaced by any free one (0). */
const portsAfter = async (gateway: number) => {
  const following = Array.from({ length: 20 }, (_, index) => gateway + 1 + index);
  const usable = following.filter((port) => !blockedPorts.includes(port));
  const chosen = serviceNames.map(async (service, index) => {
    const port = (gateway === 0 ? 0 : usable[index]) ?? 0;
    return { service, port, isUsable: port <= 65_535 && (await isFree("127.0.0.1", port)) };
  });
  const all = await Promise.all(chosen);
  return {
    portOf: (name: (typeof serviceNames)[number]): number =>
      all.find(({ service, isUsable }) => isUsable && service === name)?.port ?? 0,
    replaced: all.filter(({ isUsable }) => !isUsable),
  };
};

const startServices = async (options: StackOptions, portOf: Awaited<ReturnType<typeof portsAfter>>["portOf"]) => {
  const { data, carrierUrl, carrierFunction, malwareScan, onEnd, uploadOrigins, lines } = options;
  const functions = new Map<string, LambdaHandler>([
    [functionNames.apply, apply],
    [functionNames.ordering, applyOrders],
  ]);
  if (carrierFunction) functions.set(functionNames.adapter, reporting(carrierFunction, lines));
  const scanDelayMs = () => (malwareScan ? 1_000 : undefined);
  const onRefusedOrigin = lines?.refusedOrigin;
  const filesOptions = { folder: data?.files, port: portOf("files"), uploadOrigins, onRefusedOrigin, scanDelayMs };
  const [table, files, carrier, lambda] = await Promise.all([
    startTable(tableName, { dbPath: data?.table, proxyPort: portOf("table"), onEnd }),
    startFiles(bucketName, filesOptions),
    carrierUrl ? undefined : startCarrier({ port: portOf("carrier"), folder: data?.carts, onCall: lines?.carrierCall }),
    startLambda(functions, portOf("lambda")),
  ]);
  const environment = {
    TABLE_NAME: tableName,
    BUCKET_NAME: bucketName,
    AWS_ENDPOINT_URL_DYNAMODB: table.url,
    AWS_ENDPOINT_URL_S3: files.url,
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    APPLY_FUNCTION_NAME: functionNames.apply,
    ORDERING_FUNCTION_NAME: functionNames.ordering,
    CARRIER_URL: carrier?.url ?? carrierUrl ?? "",
    CARRIER_FUNCTION: carrierFunction ? functionNames.adapter : "",
    MALWARE_SCAN: malwareScan ? "simulated" : "",
  };
  const close = async () => {
    await Promise.all([table.close(), files.close(), carrier?.close(), lambda.close()]);
  };
  return { environment, tableProxy: table.proxy, close };
};

/** Starts the gateway, and the other services on the ports after its own. If one does not start, the others end with this process. */
export const startStack = async (options: StackOptions) => {
  const { port, throttle, lines, prefill = () => undefined } = options;
  const used = useCredentials();
  const { portOf, replaced } = await portsAfter(port);
  const services = await startServices(options, portOf);
  Object.assign(process.env, services.environment);
  const [endpoints, stepHandlers] = await Promise.all([loadEndpoints(routes), loadSteps(steps)]);
  const workflow = await startStepFunctions({ load: (name) => stepHandlers.get(name) }, portOf("workflow"));
  const executions = { AWS_ENDPOINT_URL_SFN: workflow.url, STATE_MACHINE_ARN: workflow.stateMachineArn };
  // The first step of a checkout looks up executions.
  Object.assign(process.env, executions);
  const load: GatewayOptions["load"] = ({ name }) => endpoints.get(name);
  const gateway = await startGateway({ routes, load, port, throttle, onRequest: lines?.request, extra: docs(prefill) });
  const environment = {
    ...used,
    ...services.environment,
    AWS_ENDPOINT_URL_DYNAMODB: services.tableProxy,
    ...executions,
  };
  const stop = async () => {
    await gateway.close();
    await workflow.close();
    await services.close();
  };
  const replacedPorts = replaced.map((one) => `${one.port} (${one.service})`);
  return { url: gateway.url, port: gateway.port, eventsPort: portOf("events"), replacedPorts, environment, stop };
};
