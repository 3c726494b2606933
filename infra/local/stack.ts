import { handler as apply } from "../../functions/tenants/apply.ts";
import { handler as applyOrders } from "../../functions/tenants/apply-orders.ts";
import { steps } from "../../shared/checkout/steps.ts";
import { routes } from "../../shared/routes.ts";
import type { Prefill } from "../openapi/reference.ts";
import { awsAccess, awsVariables } from "./aws-access.ts";
import { startCarrier } from "./carrier.ts";
import type { Data } from "./data.ts";
import { docs } from "./docs.ts";
import { directTo } from "./environment.ts";
import { type FilesOptions, startFiles } from "./files.ts";
import { type GatewayOptions, startGateway } from "./gateway.ts";
import { loadEndpoints, loadSteps } from "./handlers.ts";
import { type LambdaHandler, startLambda } from "./lambda.ts";
import { blockedPorts, isFree } from "./listen.ts";
import { type BusOptions, startBus } from "./local-bus.ts";
import { startStepFunctions, type WorkflowOptions } from "./step-functions.ts";
import { startTable } from "./table.ts";
import type { terminal } from "./terminal.ts";

/** The options that `npm start` can set. */
export type StackChoices = Pick<GatewayOptions, "port" | "throttle"> &
  Pick<FilesOptions, "uploadOrigins"> & {
    /** The carrier that checkouts call. Without it, the simulated carrier is started. */
    readonly carrierUrl?: string | undefined;
    readonly carrierName?: string | undefined;
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
  /** The bus of the events. Without it, no event is published. */
  readonly bus?: Omit<BusOptions, "port">;
  /** Variables for the functions, besides those of the services. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Called when a service has exited and cannot be restarted. */
  readonly onEnd?: (error: Error) => void;
};

const tableName = "patchbay";
const bucketName = "patchbay-files";
const functionNames = { apply: "patchbay-apply", ordering: "patchbay-apply-orders", adapter: "carrier-function" };

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
const serviceNames = ["carrier", "events", "lambda", "workflow", "table", "files", "console"] as const;

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

type PortOf = Awaited<ReturnType<typeof portsAfter>>["portOf"];

/** Starts all services but the gateway, and returns their addresses as the functions' environment. `load` is called for a checkout. */
const startServices = async (options: StackOptions, portOf: PortOf, load: WorkflowOptions["load"]) => {
  const { data, bus: busOptions, carrierUrl, carrierFunction, malwareScan, onEnd, uploadOrigins, lines } = options;
  const functions = new Map<string, LambdaHandler>([
    [functionNames.apply, apply],
    [functionNames.ordering, applyOrders],
  ]);
  if (carrierFunction) functions.set(functionNames.adapter, reporting(carrierFunction, lines));
  const scanDelayMs = () => (malwareScan ? 1_000 : undefined);
  const onRefusedOrigin = lines?.refusedOrigin;
  const variables = awsVariables(process.env);
  const access = awsAccess(variables);
  const { AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_S3 } = process.env;
  const tableOptions = { endpoint: AWS_ENDPOINT_URL_DYNAMODB, access, dbPath: data?.table, proxyPort: portOf("table") };
  const filesOptions = { endpoint: AWS_ENDPOINT_URL_S3, access, folder: data?.files, port: portOf("files") };
  const [table, files, carrier, lambda, workflow, bus] = await Promise.all([
    startTable(tableName, { ...tableOptions, onEnd }),
    startFiles(bucketName, { ...filesOptions, uploadOrigins, onRefusedOrigin, scanDelayMs }),
    carrierUrl ? undefined : startCarrier({ port: portOf("carrier"), folder: data?.carts, onCall: lines?.carrierCall }),
    startLambda(functions, portOf("lambda")),
    startStepFunctions({ load }, portOf("workflow")),
    busOptions && startBus({ ...busOptions, port: portOf("events") }),
  ]);
  const environment = {
    ...variables,
    ...options.variables,
    ...bus?.environment,
    TABLE_NAME: tableName,
    BUCKET_NAME: bucketName,
    AWS_ENDPOINT_URL_DYNAMODB: table.url,
    AWS_ENDPOINT_URL_S3: files.url,
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    APPLY_FUNCTION_NAME: functionNames.apply,
    ORDERING_FUNCTION_NAME: functionNames.ordering,
    CARRIER_URL: carrier?.url ?? carrierUrl ?? "",
    CARRIER_NAME: options.carrierName ?? "carrier",
    CARRIER_FUNCTION: carrierFunction ? functionNames.adapter : "",
    MALWARE_SCAN: malwareScan ? "simulated" : "",
    // The first step of a checkout looks up executions.
    AWS_ENDPOINT_URL_SFN: workflow.url,
    STATE_MACHINE_ARN: workflow.stateMachineArn,
  };
  const close = async () => {
    await workflow.close();
    await Promise.all([table.close(), files.close(), carrier?.close(), lambda.close()]);
  };
  return { environment, bus, table, close };
};

/** At the start and daily, removes what the table's file keeps of former items. */
const startTrimming = ({ bus, table }: Awaited<ReturnType<typeof startServices>>, { bus: options }: StackOptions) => {
  const trim = () => {
    try {
      if (bus) table.trim(bus.delivered());
    } catch (error) {
      options?.warn(`Old records of the stream stay until tomorrow, or the next start: ${error}`);
    }
  };
  trim();
  const timer = setInterval(trim, 86_400_000);
  return () => clearInterval(timer);
};

/**
 * Starts the gateway, and the other services on the ports after its own. If one does not start, the others end with this process. The
 * functions read their environment from this process's, which is set once, when all addresses are known.
 */
export const startStack = async (options: StackOptions) => {
  const { port, throttle, lines, prefill = () => undefined } = options;
  const [endpoints, stepHandlers] = await Promise.all([loadEndpoints(routes), loadSteps(steps)]);
  const { portOf, replaced } = await portsAfter(port);
  const services = await startServices(options, portOf, (name) => stepHandlers.get(name));
  directTo(services.environment);
  await services.bus?.follow();
  const stopTrimming = startTrimming(services, options);
  const load: GatewayOptions["load"] = ({ name }) => endpoints.get(name);
  const gateway = await startGateway({ routes, load, port, throttle, onRequest: lines?.request, extra: docs(prefill) });
  const { bus, table } = services;
  const consolePort = portOf("console");
  const addresses = { ...services.environment, AWS_ENDPOINT_URL_DYNAMODB: table.proxy };
  const environment = { ...addresses, ...(bus && { EVENTS: bus.url }) };
  const stop = async () => {
    stopTrimming();
    await bus?.stop();
    await gateway.close();
    await services.close();
  };
  const replacedPorts = replaced.map((one) => `${one.port} (${one.service})`);
  return { url: gateway.url, port: gateway.port, consolePort, replacedPorts, environment, stop };
};
