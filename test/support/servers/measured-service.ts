import { setTimeout as sleep } from "node:timers/promises";
import { type ProxiedCall, sequentialRounds } from "../fault-proxy/proxy.ts";
import type { EndpointRequest } from "../requests/request-per-endpoint.ts";
import { proxies } from "./own-table.ts";

/** Counts the AWS calls of requests to the service of this process, at the proxies in front of its table and bucket. */

/** The cost of one request. It has the calls, the sequential round trips, and DynamoDB's capacity units. */
export type Cost = {
  readonly status: number;
  readonly calls: readonly string[];
  readonly rounds: number;
  readonly readUnits: number;
  readonly writeUnits: number;
};

const writes = /^(Put|Update|Delete|TransactWrite|BatchWrite)/;

const unitsOf = (calls: readonly ProxiedCall[], kind: "read" | "write") =>
  calls.reduce((sum, { operation, units }) => (writes.test(operation) === (kind === "write") ? sum + units : sum), 0);

/** Measures requests until the test file ends. Every AWS call takes 20 ms longer, so that concurrent calls overlap. */
export const measuredService = () => {
  const { table, files } = proxies;
  for (const proxy of [table, files]) proxy.watch(async (_, moment) => (moment === "after" ? sleep(20) : undefined));
  const send = ({ method, path, init }: EndpointRequest) => fetch(process.env.PATCHBAY_URL + path, { ...init, method });
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
      readUnits: unitsOf(calls, "read"),
      writeUnits: unitsOf(calls, "write"),
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
  };
};
export type MeasuredService = ReturnType<typeof measuredService>;
