import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Cart,
  cartStore,
  forget,
  handleCall,
  Manifest,
  type ReceivedCall,
  readFileForm,
} from "./carrier-carts.ts";
import { type InjectedFault, injectedFaults, send } from "./carrier-faults.ts";
import { parseJson } from "./json-file.ts";
import { sendReply, serveLocally } from "./listen.ts";

export type CarrierOptions = {
  readonly port?: number;
  readonly host?: string;
  readonly token?: string;
  /** The folder that stores the carts. Without it, they are kept in memory. */
  readonly folder?: string | undefined;
  /** Whether it compares its cart with the manifest. */
  readonly compares?: boolean;
  readonly onCall?: ((call: ReceivedCall) => void) | undefined;
};

/** The simulated carrier, which also returns what it has received. docs/carrier.md describes the protocol. */
export const startCarrier = async ({ port = 0, host, token, folder, compares = true, onCall }: CarrierOptions = {}) => {
  const carts = cartStore(folder);
  const faults = injectedFaults();

  /** People and tests read carts without a token. */
  const isAllowed = ({ method, headers: { authorization } }: IncomingMessage) =>
    token === undefined || authorization === `Bearer ${token}` || (method === "GET" && authorization === undefined);

  const listener = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const path = incoming.url?.split("?")[0] ?? "/";
    if (path === "/faults") return sendReply(outgoing, await faults.control(incoming));
    const orderId = /^\/carts\/([^/]+)(\/.+)?$/.exec(path)?.[1];
    if (!isAllowed(incoming)) {
      await discardBody(incoming);
      return send(outgoing, { status: 401, body: { error: "the token is invalid" } });
    }
    if (!orderId) return send(outgoing, { status: 404, body: { error: "not found" } });
    const served = (call: ReceivedCall) => {
      if (incoming.method === "GET") return;
      carts.save(orderId);
      onCall?.(call);
    };
    const fault = faults.next(incoming.method ?? "", path);
    const handled = serve({ cart: carts.find(orderId), compares, served }, incoming, outgoing, path, fault);
    // A carrier that cannot store its cart is unavailable. A 400 would end the run.
    await handled.catch(() => outgoing.destroy());
  };
  return serveLocally(listener, port, host);
};

type Served = {
  readonly cart: Cart;
  readonly compares: boolean;
  readonly served: (call: ReceivedCall) => void;
};

const serve = async (
  { cart, compares, served }: Served,
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
  if (fault?.action === "forget") forget(cart);
  const isHandled = fault?.action !== "status";
  const form = isHandled && call.method === "PUT" ? await readFileForm(incoming) : undefined;
  const manifest = isHandled && call.method === "POST" && compares ? await readManifest(incoming) : undefined;
  const handled = isHandled ? handleCall(cart, { ...call, idempotencyKey, form, manifest }) : fault;
  await discardBody(incoming);
  const { action, encoding } = fault ?? {};
  const reply = fault?.action === "status-after" ? fault : { ...handled, action, encoding };
  if (fault?.action !== "drop-after") call.status = reply.status;
  served(call);
  if (fault?.action === "drop-after") return incoming.socket.destroy();
  send(outgoing, reply);
};

/** Returns null if the body is not a manifest. */
const readManifest = async (incoming: IncomingMessage): Promise<Manifest | null> =>
  parseJson(Manifest, await text(incoming)) ?? null;

/** Discards a body, so that the client gets the response. */
const discardBody = async (incoming: IncomingMessage): Promise<void> => {
  incoming.resume();
  if (!incoming.readableEnded) await once(incoming, "close");
};
