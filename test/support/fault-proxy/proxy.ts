import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { listen } from "../../../infra/local/listen.ts";
import { madeUp } from "./errors.ts";
import { transactionRules } from "./transactions.ts";

/**
 * The wire between the SDK and DynamoDB, S3 or the carrier: a proxy that sees every call, counts what it costs, and
 * can spoil the n-th one. Real clients, a real server, and faults that no server can be asked for.
 */

export const faultKinds = [
  "refuse",
  "status-500",
  "status-503",
  "throttle",
  "conflict",
  "lose-answer",
  "delay",
  "late",
  "cut",
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** The calls that a fault falls upon: the `nth` (from 1) of those whose operation matches, and `times` in all. */
export type Fault = {
  readonly kind: FaultKind;
  readonly operation: RegExp;
  readonly nth?: number;
  readonly times?: number;
};

export type WireCall = {
  /** `GetItem`, `PutObject`, `PUT /carts/…`. */
  readonly operation: string;
  readonly startedAt: number;
  endedAt: number;
  /** What DynamoDB charged for it. */
  units: number;
  /** The key or body text, for finding planted secrets. */
  readonly sent: string;
  /** Breaks the client's connection: it gives the call up, which goes on without it. */
  readonly abandon: () => void;
  fault?: FaultKind;
};

/** Told of each call before it is passed on, and again before its answer is; what it awaits holds the call up. */
export type Watch = (call: WireCall, moment: "before" | "after") => Promise<void>;

type Options = {
  /** Added to each answer, so that calls made at the same time are seen to overlap. */
  readonly latencyMs?: number;
  /** For `delay`: longer than the client's timeout. */
  readonly delayMs?: number;
  /** For `late`: when a call that its client has given up on arrives all the same. */
  readonly lateMs?: number;
  /** How long a transaction locks its items; without it, transactions never conflict, as in the emulators. */
  readonly transactionMs?: number;
};

export const startWire = async (target: string, options: Options = {}) => {
  const { latencyMs = 0, delayMs = 10_000, lateMs = 300, transactionMs } = options;
  const calls: WireCall[] = [];
  const open = new Set<Promise<void>>();
  let armed: (Fault & { left: number; skip: number })[] = [];
  let watch: Watch = async () => {};
  let choose: (call: WireCall) => FaultKind | undefined = () => undefined;
  let locking = true;
  const rules = transactionMs === undefined ? undefined : transactionRules(transactionMs, () => locking);

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
    const call: WireCall = { operation, startedAt, endedAt: 0, units: 0, sent: incoming.url ?? "", abandon };
    calls.push(call);
    const fault = faultFor(operation) ?? choose(call);
    if (fault) call.fault = fault;
    try {
      await answer(incoming, outgoing, body, call, fault);
    } catch {
      outgoing.destroy();
    }
    call.endedAt = performance.now();
  };

  const server = createServer((incoming, outgoing) => {
    const served = serve(incoming, outgoing).finally(() => open.delete(served));
    open.add(served);
  });

  const answer = async (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    body: Buffer,
    call: WireCall,
    fault: FaultKind | undefined,
  ) => {
    if (fault === "refuse") return incoming.socket.destroy();
    const made = fault && madeUp(fault, call.operation, isDynamo(incoming));
    if (made) return outgoing.writeHead(made.status, { "content-type": made.type }).end(made.body);
    if (fault === "delay") {
      // A client that has given up closes its connection: nothing is waited for any more.
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
    if (fault === "lose-answer" || fault === "late") return incoming.socket.destroy();
    outgoing.writeHead(status, headers);
    if (fault !== "cut") return outgoing.end(content);
    outgoing.write(content.subarray(0, Math.floor(content.length / 2)));
    await sleep(5);
    return incoming.socket.destroy();
  };

  const { url } = await listen(server);
  return {
    url,
    calls,
    /** Forgets what was seen and arms these faults. */
    arm: (...faults: readonly Fault[]) => {
      calls.length = 0;
      armed = faults.map((fault) => ({ ...fault, left: fault.times ?? 1, skip: (fault.nth ?? 1) - 1 }));
    },
    /** Until it is told otherwise, asks this of every call. */
    watch: (watcher: Watch) => {
      watch = watcher;
    },
    /** From now on asks this for the fault of every call that no armed fault falls upon. */
    choose: (chooser: typeof choose) => {
      choose = chooser;
    },
    /** Whether overlapping transactions conflict; they do unless told otherwise. */
    lock: (on: boolean) => {
      locking = on;
    },
    /** When no call is on its way any more, those included that their clients have given up on. */
    idle: async () => {
      while (open.size > 0) await Promise.all(open);
    },
    /** Whether every armed fault has fallen. */
    spent: () => armed.every(({ left }) => left === 0),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
};

/** How many of the calls had to wait for another: the longest chain in which each began after the one before had ended. */
export const sequentialRounds = (calls: readonly Pick<WireCall, "startedAt" | "endedAt">[]): number => {
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

/** Asks DynamoDB for the price of the call as well. */
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
  // The header Host stays as it came: it is part of a signature.
  const outgoing = httpRequest(target + incoming.url, {
    method: incoming.method,
    headers: { ...incoming.headers, "content-length": body.length },
  });
  outgoing.end(body);
  const [response]: IncomingMessage[] = await once(outgoing, "response");
  if (!response) throw new Error("no answer");
  const content = await buffer(response);
  const { "transfer-encoding": _, ...answered } = response.headers;
  // The answer to a HEAD says how long the content would be.
  const length = incoming.method === "HEAD" ? (answered["content-length"] ?? 0) : content.length;
  return { status: response.statusCode ?? 500, headers: { ...answered, "content-length": length }, content };
};
