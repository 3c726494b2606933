import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { ulid } from "ulid";
import { lambdaContext } from "../../infra/local/proxy-event.ts";
import { interceptCalls } from "../support/fault-proxy/intercept.ts";
import { sequentialRounds } from "../support/fault-proxy/proxy.ts";
import { type EndpointRequest, requestPerEndpoint } from "../support/requests/request-per-endpoint.ts";
import { alternating, median, percentile, round, type Section } from "./figures.ts";
import { benchService } from "./service.ts";

/** One AWS call of a handler: its command and its times. */
type Recorded = { readonly command: { readonly input: object }; readonly startedAt: number; endedAt: number };

/** Records every call of the SDK's clients. Delays each, so that concurrent calls overlap. */
const recorder = () => {
  let calls: Recorded[] | undefined;
  interceptCalls(async ({ command }, pass) => {
    if (!calls) return pass();
    const call = { command, startedAt: performance.now(), endedAt: 0 };
    calls.push(call);
    await sleep(25);
    return pass().finally(() => {
      call.endedAt = performance.now();
    });
  });
  return async <T>(run: () => Promise<T>) => {
    const during: Recorded[] = [];
    calls = during;
    const result = await run();
    calls = undefined;
    return { result, calls: during };
  };
};

/** The round of each call, in the order of the calls. */
const roundsOf = (calls: readonly Recorded[]) =>
  calls.map((call) => sequentialRounds(calls.filter(({ startedAt }) => startedAt <= call.startedAt)));

/** Returns the same input for another resource. Replaces the id, and other values that must be unique, in every string. */
const withNewIds = (value: unknown, ids: readonly [string, string], fresh: string): unknown => {
  if (typeof value === "string")
    return value
      .replaceAll(...ids)
      .replace(/^SWITCH_NAME#.*/, `SWITCH_NAME#${fresh}`)
      .replace(/^REFERENCE#.*/, `REFERENCE#${fresh}`);
  if (Array.isArray(value)) return value.map((each) => withNewIds(each, ids, fresh));
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      name === "ClientRequestToken" ? fresh : withNewIds(each, ids, fresh),
    ]),
  );
};

const bareClients = () => {
  const table = DynamoDBDocumentClient.from(new DynamoDBClient());
  const files = new S3Client({ forcePathStyle: true });
  return (command: Recorded["command"], input: unknown): Promise<unknown> => {
    const client = command.constructor.name.includes("Object") ? files : table;
    return Reflect.apply(client.send, client, [Reflect.construct(command.constructor, [input])]);
  };
};

/** The delay of each call. Calls within a region take some milliseconds, embedded ones a tenth of that. */
const latencyMs = 3;

/** Measures a whole handler, compared with the same AWS calls made by bare clients in the same order and concurrency. */
export const warm = async (repetitions: number): Promise<Section> => {
  const service = await benchService(latencyMs);
  const record = recorder();
  const bare = bareClients();
  const handle = async (name: string, prepared: EndpointRequest) => {
    const handler = service.handlers.get(name);
    if (!handler) throw new Error(`no handler ${name}`);
    const event = await service.eventOf(prepared);
    return async () => handler(event, lambdaContext(29_000));
  };
  const rows: Record<string, string | number>[] = [];
  for (const [name, prepare] of Object.entries(requestPerEndpoint(service.send, service.place))) {
    // Completing an upload reads bodies from S3, which the bare calls here do not.
    if (name.endsWith("/complete-upload")) continue;
    const first = await prepare();
    const { result, calls } = await record(await handle(name, first));
    const rounds = roundsOf(calls);
    const creates = name.includes("/create");
    const id = creates ? JSON.parse(result.body).data.id : lastOf(first);
    const ready = async () => {
      const run = await handle(name, await prepare());
      return async () => {
        const { statusCode } = await run();
        if (statusCode >= 300) throw new Error(`${name} returned ${statusCode}`);
      };
    };
    const bareReady = async () => {
      const ids = [id, creates ? ulid() : lastOf(await prepare())] as const;
      const sends = calls.map(({ command }) => {
        const fresh = withNewIds(command.input, ids, crypto.randomUUID());
        return () => bare(command, fresh);
      });
      return async () => {
        for (let level = 1; level <= Math.max(...rounds); level += 1)
          await Promise.all(sends.map((send, index) => rounds[index] === level && send()));
      };
    };
    const [ours, theirs] = await alternating(ready, bareReady, repetitions);
    rows.push({
      endpoint: name,
      calls: rounds.length,
      "in a row": Math.max(...rounds),
      "ms, ours": round(median(ours)),
      "ms, bare": round(median(theirs)),
      ratio: round(median(ours) / median(theirs)),
      target: 1.15,
      "p99, ours": round(percentile(ours, 0.99)),
    });
  }
  await service.close();
  return {
    title: `Warm, ${latencyMs} ms from AWS: a whole handler compared with the same bare calls, medians of ${repetitions}`,
    notes: [
      "Bare calls use the SDK's defaults, in the same order and concurrency, on new items. The latency is added to each call of both.",
    ],
    rows,
  };
};

const lastOf = ({ path }: EndpointRequest) => path.slice(path.lastIndexOf("/") + 1);
