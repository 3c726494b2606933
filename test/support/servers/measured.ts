import type { WireCall } from "../fault-proxy/proxy.ts";
import { sequentialRounds, startWire } from "../fault-proxy/proxy.ts";
import type { EndpointRequest } from "../requests/request-per-endpoint.ts";

/**
 * The service in this process, its AWS calls counted on the wire. What the environment says of DynamoDB and S3 is
 * taken as the wires' targets; the modules that make clients are imported only after it names the wires.
 */

/** What one request cost: its calls, how many of them had to wait for another, and DynamoDB's units. */
export type Cost = {
  readonly status: number;
  readonly calls: readonly string[];
  readonly rounds: number;
  readonly readUnits: number;
  readonly writeUnits: number;
};

const writes = /^(Put|Update|Delete|TransactWrite|BatchWrite)/;

const unitsOf = (calls: readonly WireCall[], writing: boolean) =>
  calls.reduce((sum, { operation, units }) => (writes.test(operation) === writing ? sum + units : sum), 0);

/** `latencyMs` is added to every AWS call, so that calls made at the same time are seen to overlap. */
export const measuredService = async (latencyMs = 20) => {
  const { AWS_ENDPOINT_URL_DYNAMODB = "", AWS_ENDPOINT_URL_S3 = "" } = process.env;
  const table = await startWire(AWS_ENDPOINT_URL_DYNAMODB, { latencyMs });
  const files = await startWire(AWS_ENDPOINT_URL_S3, { latencyMs });
  Object.assign(process.env, { AWS_ENDPOINT_URL_DYNAMODB: table.url, AWS_ENDPOINT_URL_S3: files.url });
  const { routes } = await import("../../../shared/routes.ts");
  const { loadEndpoints } = await import("../../../infra/local/handlers.ts");
  const { startGateway } = await import("../../../infra/local/gateway.ts");
  const handlers = await loadEndpoints(routes);
  const gateway = await startGateway({ routes, load: ({ name }) => handlers.get(name), port: 0 });
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
     * The cost of each request, one at a time. On a busy machine calls that are made at the same time may miss each other,
     * but calls that wait for each other never overlap: a request with more rounds than `knownRounds` is tried three times,
     * and the fewest count.
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
