import * as z from "zod/mini";
import { type CarrierOptions, startCarrier } from "../../../infra/local/carrier.ts";
import type { cartDocument } from "../../../infra/local/carrier-carts.ts";
import type { InjectedFault } from "../../../infra/local/carrier-faults.ts";

export type Misbehaviour = Partial<InjectedFault> & Pick<InjectedFault, "action">;

const Cart = z.custom<ReturnType<typeof cartDocument>>();

const readCart = async (url: string, order: string) =>
  z.parse(Cart, await (await fetch(`${url}/carts/${order}`)).json());

/** The files of a checked-out order that a carrier has, sorted, each as "request attachment bytes sha256". */
export const forwardedTo = async (url: string, order: string) => {
  const { attachments, checked_out } = await readCart(url, order);
  if (!checked_out) throw new Error("the cart is not checked out");
  return attachments
    .map((one) => {
      if (one.received !== 1) throw new Error(`received ${one.received} times`);
      return `${one.request_id} ${one.attachment_id} ${one.bytes} ${one.sha256}`;
    })
    .sort();
};

/**
 * Starts the simulated carrier and configures the steps to call it. Only tests of a carrier that does not respond shorten the
 * timeout, because on a busy machine a short one would repeat calls needlessly.
 */
export const carrier = async ({
  timeoutMs = 20_000,
  ...options
}: Pick<CarrierOptions, "compares"> & { readonly timeoutMs?: number } = {}) => {
  const { url, close } = await startCarrier({ ...options, port: 0, token: "the-carrier-token" });
  Object.assign(process.env, {
    CARRIER_URL: url,
    CARRIER_TOKEN: "the-carrier-token",
    CARRIER_TIMEOUT_MS: String(timeoutMs),
  });
  const cart = (order: string) => readCart(url, order);
  return {
    url,
    close,
    cart,
    /** The forwarded attachments, sorted, each as "request attachment". Fails unless each was received once. */
    forwarded: async (order: string) => {
      const { attachments } = await cart(order);
      for (const { received } of attachments) if (received !== 1) throw new Error(`received ${received} times`);
      return attachments.map(({ request_id, attachment_id }) => `${request_id} ${attachment_id}`).sort();
    },
    /** The calls that the carrier received, in order, each as "PUT 201". */
    calls: async (order: string) => (await cart(order)).calls.map(({ method, status }) => `${method} ${status}`),
    misbehave: async (fault: Misbehaviour) => {
      const { status } = await fetch(`${url}/faults`, { method: "POST", body: JSON.stringify(fault) });
      if (status !== 201) throw new Error(`the carrier refused the fault: ${status}`);
    },
    behave: () => fetch(`${url}/faults`, { method: "DELETE" }),
  };
};
