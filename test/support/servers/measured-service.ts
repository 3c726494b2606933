import { type ProxiedCall, sequentialRounds, startFaultProxy } from "../fault-proxy/proxy.ts";
import type { EndpointRequest } from "../requests/request-per-endpoint.ts";

/**
 * Runs the service in this process and counts its AWS calls with proxies in front of DynamoDB and S3. Modules that create
 * clients are imported only after the environment has the proxies' addresses.
 */

/** The cost of one request: its calls, its sequential round trips, and DynamoDB's capacity units. */
export type Cost = {
  readonly status: number;
  readonly calls: readonly string[];
  readonly rounds: number;
  readonly readUnits: number;
  readonly writeUnits: number;
};

const writes = /^(Put|Update|Delete|TransactWrite|BatchWrite)/;

const unitsOf = (calls: readonly ProxiedCall[], writing: boolean) =>
  calls.reduce((sum, { operation, units }) => (writes.test(operation) === writing ? sum + units : sum), 0);

/** Every AWS call takes `latencyMs` longer, so that concurrent calls overlap. */
export const measuredService = async (latencyMs = 20) => {
  const { AWS_ENDPOINT_URL_DYNAMODB = "", AWS_ENDPOINT_URL_S3 = "" } = process.env;
  const table = await startFaultProxy(AWS_ENDPOINT_URL_DYNAMODB, { latencyMs });
  const files = await startFaultProxy(AWS_ENDPOINT_URL_S3, { latencyMs });
  Object.assign(process.env, { AWS_ENDPOINT_URL_DYNAMODB: table.url, AWS_ENDPOINT_URL_S3: files.url });
  const { serveEndpoints } = await import("./endpoints.ts");
  const gateway = await serveEndpoints();
  const send = ({ method, path, init }: EndpointRequest) => fetch(gateway.url + path, { ...init, method });
  const measureOnce = async (request: EndpointRequest): Promise<Cost> => {
    table.arm();
    files.arm();
    const response = await send(request);
    await response.arrayBuffer();
    const calls = [...table.calls, ...files.calls].toSorted((a, b) => a.startedAt - b.startedAt);
    return {
      status: response.status,
      calls: calls.map(({ operation }) => operation),
      rounds: sequentialRounds(calls),
      readUnits: unitsOf(calls, false),
      writeUnits: unitsOf(calls, true),
    };
  };
  return {
    send,
    /**
     * Measures each request, one at a time. On a busy machine, concurrent calls may not overlap, but sequential calls never do.
     * So a request with more round trips than `knownRounds` is measured three times, and the lowest number counts.
     */
    measureAll: async (
      requests: Readonly<Record<string, () => Promise<EndpointRequest>>>,
      knownRounds: ReadonlyMap<string, number> = new Map(),
    ) => {
      const costs = new Map<string, Cost>();
      for (const [name, prepare] of Object.entries(requests)) {
        let cost = await measureOnce(await prepare());
        for (let tries = 1; tries < 3 && cost.rounds > (knownRounds.get(name) ?? 0); tries += 1) {
          const { rounds } = await measureOnce(await prepare());
          cost = { ...cost, rounds: Math.min(cost.rounds, rounds) };
        }
        costs.set(name, cost);
      }
      return costs;
    },
    close: async () => {
      await gateway.close();
      await Promise.all([table.close(), files.close()]);
    },
  };
};
export type MeasuredService = Awaited<ReturnType<typeof measuredService>>;
