import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { type Cart, cartStore, handleCall, type ReceivedCall, readFileForm } from "./carrier-carts.ts";
import { type Reply, sendReply, serveLocally } from "./listen.ts";

const Pattern = z.string().check(z.refine(isPattern, { error: "must be a regular expression" }));

const InjectedFault = z.object({
  /** A fault affects GET only if it names GET, which also shows a cart to people and tests. */
  method: z._default(Pattern, "PUT|POST|DELETE"),
  path: z._default(Pattern, ".*"),
  times: z._default(z.int().check(z.minimum(1)), 1),
  action: z.enum(["status", "status-after", "delay", "drop-before", "drop-after", "cut"]),
  status: z._default(z.int().check(z.minimum(200), z.maximum(599)), 503),
  headers: z._default(z.record(z.string(), z.string()), {}),
  body: z._default(z.unknown(), { error: "injected fault" }),
  delay_ms: z._default(z.int().check(z.minimum(0), z.maximum(600_000)), 500),
});
type InjectedFault = z.infer<typeof InjectedFault>;

function isPattern(text: unknown): boolean {
  try {
    return Boolean(new RegExp(String(text)));
  } catch {
    return false;
  }
}

export type CarrierOptions = {
  readonly port?: number;
  readonly host?: string;
  readonly token?: string;
  /** The folder that stores the carts. Without it, they are in memory. */
  readonly folder?: string | undefined;
  readonly onCall?: ((call: ReceivedCall) => void) | undefined;
};

/** The simulated carrier, which also returns what it has received. docs/carrier.md describes the protocol. */
export const startCarrier = async ({ port = 0, host, token, folder, onCall }: CarrierOptions = {}) => {
  const carts = cartStore(folder);
  let faults: InjectedFault[] = [];

  const nextFault = (method: string, path: string): InjectedFault | undefined => {
    const fault = faults.find(
      (one) => one.times > 0 && new RegExp(`^(?:${one.method})$`).test(method) && new RegExp(one.path).test(path),
    );
    if (fault) fault.times -= 1;
    return fault;
  };

  const control = async (incoming: IncomingMessage): Promise<Reply> => {
    if (incoming.method === "DELETE") faults = [];
    if (incoming.method !== "POST") return { status: 200, body: { faults } };
    const fault = z.safeParse(InjectedFault, await json(incoming).catch(() => undefined));
    if (!fault.success) return { status: 422, body: { error: z.prettifyError(fault.error) } };
    faults.push(fault.data);
    return { status: 201, body: fault.data };
  };

  const listener = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const path = incoming.url?.split("?")[0] ?? "/";
    if (path === "/faults") return sendReply(outgoing, await control(incoming));
    const orderId = /^\/carts\/([^/]+)(\/.+)?$/.exec(path)?.[1];
    const isRead = incoming.method === "GET";
    if (token !== undefined && !isRead && incoming.headers.authorization !== `Bearer ${token}`) {
      await discardBody(incoming);
      return sendReply(outgoing, { status: 401, body: { error: "the token is invalid" } });
    }
    if (!orderId) return sendReply(outgoing, { status: 404, body: { error: "not found" } });
    const served = (call: ReceivedCall) => {
      if (isRead) return;
      carts.save(orderId);
      onCall?.(call);
    };
    const fault = nextFault(incoming.method ?? "", path);
    const handled = serve({ cart: carts.find(orderId), served }, incoming, outgoing, path, fault);
    // A carrier that cannot store its cart is unavailable. A 400 would be a refusal.
    await handled.catch(() => outgoing.destroy());
  };
  return serveLocally(listener, port, host);
};

const serve = async (
  { cart, served }: { readonly cart: Cart; readonly served: (call: ReceivedCall) => void },
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  path: string,
  fault: InjectedFault | undefined,
) => {
  const header = incoming.headers["idempotency-key"];
  const idempotencyKey = typeof header === "string" ? header : null;
  const call: ReceivedCall = { method: incoming.method ?? "", path, status: null, idempotency_key: idempotencyKey };
  if (call.method !== "GET") cart.calls.push(call);
  if (fault?.action === "drop-before") {
    served(call);
    return incoming.socket.destroy();
  }
  if (fault?.action === "delay") await sleep(fault.delay_ms, undefined, { ref: false });
  const form = call.method === "PUT" && fault?.action !== "status" ? await readFileForm(incoming) : undefined;
  const handled = fault?.action === "status" ? fault : handleCall(cart, { ...call, idempotencyKey, form });
  await discardBody(incoming);
  const reply = fault?.action === "status-after" ? fault : handled;
  if (fault?.action !== "drop-after") call.status = reply.status;
  served(call);
  if (fault?.action === "drop-after") return incoming.socket.destroy();
  if (fault?.action === "cut") return sendHalf(outgoing, reply);
  sendReply(outgoing, reply);
};

/** Discards a body, so that the client gets the response. */
const discardBody = async (incoming: IncomingMessage): Promise<void> => {
  incoming.resume();
  if (!incoming.readableEnded) await once(incoming, "close");
};

const sendHalf = (outgoing: ServerResponse, { status, body }: Reply) => {
  const text = JSON.stringify(body);
  outgoing.writeHead(status, { "content-type": "application/json", "content-length": text.length });
  outgoing.write(text.slice(0, text.length / 2), () => outgoing.destroy());
};
