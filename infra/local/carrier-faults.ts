import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import * as z from "zod/mini";
import type { Reply } from "./listen.ts";

const encoders = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync } as const;

function isPattern(text: unknown): boolean {
  try {
    return Boolean(new RegExp(String(text)));
  } catch {
    return false;
  }
}

const Pattern = z.string().check(z.refine(isPattern, { error: "must be a regular expression" }));

/**
 * A fault of the simulated carrier, or of what stands before it, such as a maintenance page, a firewall's challenge or a gateway.
 */
const InjectedFault = z.object({
  /** A fault affects GET only if it names GET, because a GET also shows a cart to people and tests. */
  method: z._default(Pattern, "PUT|POST|DELETE"),
  path: z._default(Pattern, ".*"),
  times: z._default(z.int().check(z.minimum(1)), 1),
  /**
   * `status` responds in the carrier's place, `status-after` after the carrier has acted. `forget` empties the cart before the call,
   * as one that has expired. `pass` changes nothing but the encoding.
   */
  action: z.enum(["status", "status-after", "delay", "drop-before", "drop-after", "cut", "forget", "pass"]),
  status: z._default(z.int().check(z.minimum(200), z.maximum(599)), 503),
  headers: z._default(z.record(z.string(), z.string()), {}),
  /** Sent as JSON. `$AUTHORIZATION` becomes the call's header of that name. Without a body, a 422 is a refusal. */
  body: z.optional(z.unknown()),
  /** Sent as it is in place of `body`, such as a page, or nothing. */
  text: z.optional(z.string()),
  /** Compresses the response. */
  encoding: z.optional(z.enum(["gzip", "deflate", "br"])),
  delay_ms: z._default(z.int().check(z.minimum(0), z.maximum(600_000)), 500),
});
export type InjectedFault = z.infer<typeof InjectedFault>;

/**
 * The faults to come. `control` adds one (POST), removes all (DELETE) and lists them (GET). `next` takes the first that affects a
 * call.
 */
export const injectedFaults = () => {
  let faults: InjectedFault[] = [];
  return {
    control: async (incoming: IncomingMessage): Promise<Reply> => {
      if (incoming.method === "DELETE") faults = [];
      if (incoming.method !== "POST") return { status: 200, body: { faults } };
      const fault = z.safeParse(InjectedFault, await json(incoming).catch(() => undefined));
      if (!fault.success) return { status: 422, body: { error: z.prettifyError(fault.error) } };
      const { status } = fault.data;
      const body = status === 422 ? { reason: "injected refusal" } : { error: "injected fault" };
      faults.push({ body, ...fault.data });
      return { status: 201, body: fault.data };
    },
    next: (method: string, path: string): InjectedFault | undefined => {
      const fault = faults.find(
        (one) => one.times > 0 && new RegExp(`^(?:${one.method})$`).test(method) && new RegExp(one.path).test(path),
      );
      if (fault) fault.times -= 1;
      return fault;
    },
  };
};

type Faulty = Reply & {
  readonly text?: string | undefined;
  readonly encoding?: InjectedFault["encoding"];
  readonly action?: InjectedFault["action"] | undefined;
};

/** Sends a response, or its first half. */
export const send = (outgoing: ServerResponse, reply: Faulty): void => {
  const { status, headers, text, encoding, action } = reply;
  const { authorization = "" } = outgoing.req.headers;
  const content = (text ?? JSON.stringify(reply.body) ?? "").replaceAll("$AUTHORIZATION", () => authorization);
  const body = encoding ? encoders[encoding](content) : Buffer.from(content);
  const type = text === undefined ? "application/json" : "text/html";
  outgoing.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    ...(encoding && { "content-encoding": encoding }),
    ...(status !== 204 && status !== 304 && { "content-length": body.length }),
    ...headers,
  });
  if (action === "cut") outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy());
  else outgoing.end(body);
};
