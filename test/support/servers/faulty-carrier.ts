import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import {
  type Cart,
  type CartCall,
  emptyCart,
  handleCall,
  Manifest,
  readFileForm,
} from "../../../infra/local/carrier-carts.ts";
import { parseJson } from "../../../infra/local/json-file.ts";
import { listen, type Reply } from "../../../infra/local/listen.ts";

/** Handles a call in place of the simulated carrier's cart, which is `next`. A body that is a text is sent as it is. */
export type Fault = (
  call: CartCall,
  cart: Cart,
  next: () => Reply,
  inProgress: () => number,
) => Reply | undefined | Promise<Reply>;

/** A carrier with one cart, and with one fault. It does not respond if the fault returns nothing. */
export const faultyCarrier = async (fault: Fault) => {
  const cart = emptyCart();
  let inProgress = 0;
  const { url, close } = await listen(
    createServer(async (incoming, outgoing) => {
      const { method = "", url: path = "" } = incoming;
      const header = incoming.headers["idempotency-key"];
      inProgress += 1;
      const form = method === "PUT" ? await readFileForm(incoming) : undefined;
      const manifest = method === "POST" ? (parseJson(Manifest, await text(incoming)) ?? null) : undefined;
      const call = { method, path, idempotencyKey: typeof header === "string" ? header : null, form, manifest };
      const reply = await fault(
        call,
        cart,
        () => handleCall(cart, call),
        () => inProgress,
      );
      inProgress -= 1;
      if (!reply) return;
      const body = typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body);
      outgoing.writeHead(reply.status).end(reply.status === 204 ? undefined : body);
    }),
  );
  return { url, close };
};
