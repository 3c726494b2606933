import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { listen } from "../../../infra/local/listen.ts";
import { dynamoResponse, s3Response } from "./errors.ts";
import { transactionRules } from "./transactions.ts";

/**
 * A proxy between the SDK and DynamoDB, S3 or the carrier. It records every call and its cost, and injects faults that no server
 * produces on request.
 */

export const faultKinds = [
  "refuse",
  "status-500",
  "status-503",
  "throttle",
  "conflict",
  "lose-response",
  "delay",
  "late",
  "cut",
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** A fault in `times` calls whose operation matches, starting with the `nth` (from 1). */
export type ArmedFault = {
  readonly kind: FaultKind;
  readonly operation: RegExp;
  readonly nth?: number;
  readonly times?: number;
};

export type ProxiedCall = {
  /** The operation, such as `GetItem`, `PutObject` or `PUT /carts/…`. */
  readonly operation: string;
  readonly startedAt: number;
  endedAt: number;
  /** Charged by DynamoDB. */
  units: number;
  readonly sent: string;
  /** Breaks the client's connection, while the call continues. */
  readonly abandon: () => void;
  fault?: FaultKind;
};

/** Called before each call is forwarded, and again before its response is sent. The proxy waits for the returned promise. */
export type Watch = (call: ProxiedCall, moment: "before" | "after") => Promise<void>;

type Options = {
  /** Delays each response, so that concurrent calls overlap. */
  readonly latencyMs?: number;
  /** The time of the fault `delay`, longer than the client's timeout. */
  readonly delayMs?: number;
  /** The delay of the fault `late`, longer than the client's timeout. */
  readonly lateMs?: number;
  /** How long a transaction locks its items. By default transactions never conflict, as in the emulators. */
  readonly transactionMs?: number;
};

export const startFaultProxy = async (target: string, options: Options = {}) => {
  const { latencyMs = 0, delayMs = 10_000, lateMs = 300, transactionMs } = options;
  const calls: ProxiedCall[] = [];
  const open = new Set<Promise<void>>();
  let armed: (ArmedFault & { left: number; skip: number })[] = [];
  let watch: Watch = async () => {};
  let choose: (call: ProxiedCall) => FaultKind | undefined = () => undefined;
  const rules = transactionMs === undefined ? undefined : transactionRules(transactionMs);

  const faultFor = (operation: string): FaultKind | undefined => {
    const fault = armed.find(({ operation: pattern, left }) => left > 0 && pattern.test(operation));
    if (!fault) return undefined;
    if (fault.skip > 0) {
      fault.skip -= 1;
      return undefined;
    }
    fault.left -= 1;
    return fault.kind;
  };

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const body = await buffer(incoming);
    const operation = operationOf(incoming);
    const [startedAt, abandon] = [performance.now(), () => incoming.socket.destroy()];
    const call: ProxiedCall = { operation, startedAt, endedAt: 0, units: 0, sent: incoming.url ?? "", abandon };
    calls.push(call);
    const fault = faultFor(operation) ?? choose(call);
    if (fault) call.fault = fault;
    try {
      await respond(incoming, outgoing, body, call, fault);
    } catch {
      outgoing.destroy();
    }
    call.endedAt = performance.now();
  };

  const server = createServer((incoming, outgoing) => {
    const served = serve(incoming, outgoing).finally(() => open.delete(served));
    open.add(served);
  });

  const respond = async (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    body: Buffer,
    call: ProxiedCall,
    fault: FaultKind | undefined,
  ) => {
    if (fault === "refuse") return incoming.socket.destroy();
    const injected = fault && (isDynamo(incoming) ? dynamoResponse(fault, call.operation) : s3Response(fault));
    if (injected) return outgoing.writeHead(injected.status, { "content-type": injected.type }).end(injected.body);
    if (fault === "delay") {
      // A client that times out closes its connection, which ends the wait.
      await Promise.race([sleep(delayMs, undefined, { ref: false }), once(incoming.socket, "close")]);
      return incoming.socket.destroy();
    }
    if (fault === "late") await sleep(lateMs);
    await watch(call, "before");
    const pass = () => forward(target, incoming, measured(incoming, body));
    const { status, headers, content } = await (rules?.(call.operation, body, pass) ?? pass());
    call.units = unitsOf(incoming, content);
    await watch(call, "after");
    if (latencyMs > 0) await sleep(latencyMs);
    if (fault === "lose-response" || fault === "late") return incoming.socket.destroy();
    outgoing.writeHead(status, headers);
    if (fault !== "cut") return outgoing.end(content);
    outgoing.write(content.subarray(0, Math.floor(content.length / 2)));
    await sleep(5);
    return incoming.socket.destroy();
  };

  const { url, close } = await listen(server);
  return {
    url,
    calls,
    /** Clears the recorded calls, and replaces earlier faults with these. */
    arm: (...faults: readonly ArmedFault[]) => {
      calls.length = 0;
      armed = faults.map((fault) => ({ ...fault, left: fault.times ?? 1, skip: (fault.nth ?? 1) - 1 }));
    },
    /** Calls this for every call from now on. */
    watch: (watcher: Watch) => {
      watch = watcher;
    },
    /** Lets this choose the fault of every call that has no armed fault. */
    choose: (chooser: typeof choose) => {
      choose = chooser;
    },
    /** Resolves when no call is in flight, not even one whose client has timed out. */
    idle: async () => {
      while (open.size > 0) await Promise.all(open);
    },
    close,
  };
};

/** The number of sequential rounds, which is the longest chain of calls in which each starts after the previous one has ended. */
export const sequentialRounds = (calls: readonly Pick<ProxiedCall, "startedAt" | "endedAt">[]): number => {
  const depths = new Map<(typeof calls)[number], number>();
  for (const call of calls.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const before = [...depths].filter(([other]) => other.endedAt <= call.startedAt).map(([, depth]) => depth);
    depths.set(call, 1 + Math.max(0, ...before));
  }
  return Math.max(0, ...depths.values());
};

const s3Operations: Record<string, string> = {
  PUT: "PutObject",
  GET: "GetObject",
  DELETE: "DeleteObject",
  HEAD: "HeadObject",
};

const operationOf = ({ headers, method = "", url = "" }: IncomingMessage): string => {
  const target = headers["x-amz-target"];
  if (typeof target === "string") return target.split(".")[1] ?? target;
  const path = url.split("?")[0] ?? "";
  if (headers["x-amz-content-sha256"] === undefined) return `${method} ${path}`;
  return url.includes("list-type=2") ? "ListObjectsV2" : (s3Operations[method] ?? method);
};

const isDynamo = ({ headers }: IncomingMessage) => String(headers["x-amz-target"] ?? "").startsWith("DynamoDB");

/** Makes a call to DynamoDB return the consumed capacity. */
const measured = (incoming: IncomingMessage, body: Buffer): Buffer =>
  isDynamo(incoming)
    ? Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), ReturnConsumedCapacity: "TOTAL" }))
    : body;

const unitsOf = (incoming: IncomingMessage, content: Buffer): number => {
  if (!isDynamo(incoming)) return 0;
  const { ConsumedCapacity = [] } = JSON.parse(content.toString() || "{}");
  return [ConsumedCapacity].flat().reduce((sum: number, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
};

const forward = async (target: string, incoming: IncomingMessage, body: Buffer) => {
  // The Host header stays, since the signature covers it.
  const outgoing = httpRequest(target + incoming.url, {
    method: incoming.method,
    headers: { ...incoming.headers, "content-length": body.length },
  });
  outgoing.end(body);
  const [response]: IncomingMessage[] = await once(outgoing, "response");
  if (!response) throw new Error("no response");
  const content = await buffer(response);
  const { headers, statusCode: status = 500 } = response;
  // These headers describe the connection to the target, which stays open longer than the client's.
  for (const name of ["transfer-encoding", "connection", "keep-alive"]) delete headers[name];
  // The response to a HEAD has the length of the content that a GET would have.
  const length = incoming.method === "HEAD" ? (headers["content-length"] ?? 0) : content.length;
  return { status, headers: { ...headers, "content-length": length }, content };
};
