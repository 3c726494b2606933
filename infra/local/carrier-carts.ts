import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { Busboy } from "@fastify/busboy";
import * as z from "zod/mini";
import { SentMetadata } from "../../shared/attachments/schema.ts";

/** What the carrier stores of its carts: the size and SHA-256 of each file, but not its bytes. */

const Metadata = z.object({ ...SentMetadata.shape, sha256: z.optional(z.string()) });

const StoredFile = z.object({
  request_id: z.string(),
  attachment_id: z.string(),
  ...SentMetadata.shape,
  bytes: z.number(),
  sha256: z.string(),
  /** The number of distinct idempotency keys that it was stored with: more than one means that it was sent twice. */
  received: z.number(),
});

const ReceivedCall = z.object({
  method: z.string(),
  path: z.string(),
  status: z.nullable(z.number()),
  idempotency_key: z.nullable(z.string()),
});
export type ReceivedCall = z.infer<typeof ReceivedCall>;

const Reply = z.object({ status: z.number(), body: z.unknown() });
export type Reply = z.infer<typeof Reply>;

const byPlace = <S extends z.core.$ZodType>(value: S) => z.map(z.string(), value);

const Cart = z.object({
  checked_out: z.boolean(),
  held: byPlace(StoredFile),
  /** The idempotency keys that stored each file. */
  keys: byPlace(z.set(z.string())),
  withdrawn: byPlace(StoredFile),
  calls: z.array(ReceivedCall),
  answers: byPlace(Reply),
});
export type Cart = z.infer<typeof Cart>;

const newCart = (): Cart => ({
  checked_out: false,
  held: new Map(),
  keys: new Map(),
  withdrawn: new Map(),
  calls: [],
  answers: new Map(),
});

const readCart = (file: string): Cart | undefined => {
  try {
    return z.parse(Cart, deserialize(readFileSync(file)));
  } catch {
    return undefined;
  }
};

/** The carts by order id, in memory or as files in a folder. A cart that was never used is empty. */
export const cartStore = (folder?: string) => {
  const carts = new Map<string, Cart>();
  const fileOf = (orderId: string) =>
    folder === undefined ? undefined : join(folder, `${encodeURIComponent(orderId)}.cart`);
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  return {
    find: (orderId: string): Cart => {
      const file = fileOf(orderId);
      const cart = carts.get(orderId) ?? (file === undefined ? undefined : readCart(file)) ?? newCart();
      carts.set(orderId, cart);
      return cart;
    },
    /** Saves a cart. A reader gets the old file or the new one, never a part. */
    save: (orderId: string): void => {
      const [file, cart] = [fileOf(orderId), carts.get(orderId)];
      if (!file || !cart) return;
      writeFileSync(`${file}.new`, serialize(cart));
      renameSync(`${file}.new`, file);
    },
  };
};

/** A cart as `GET /carts/{order}` returns it. */
export const CartDocument = z.object({
  checked_out: z.boolean(),
  attachments: z.array(StoredFile),
  withdrawn: z.array(StoredFile),
  calls: z.array(ReceivedCall),
});

export const cartDocument = ({ checked_out, held, withdrawn, calls }: Cart): z.infer<typeof CartDocument> => ({
  checked_out,
  attachments: [...held.values()],
  withdrawn: [...withdrawn.values()],
  calls,
});

const refusal = (status: number, error: string): Reply => ({ status, body: { error } });
const checkedOut = refusal(409, "the cart is checked out");

/** Reads the form as it comes: metadata, and of the file its length and digest. Rejects if it breaks off. */
const readForm = (incoming: IncomingMessage) =>
  new Promise<{ metadata: string; bytes: number; sha256: string } | undefined>((resolve, reject) => {
    const digest = createHash("sha256");
    let [metadata, bytes, files] = ["", 0, 0];
    const form = new Busboy({
      headers: { ...incoming.headers, "content-type": incoming.headers["content-type"] ?? "" },
      isPartAFile: (name) => name === "file",
    });
    form.on("field", (name, value) => {
      if (name === "metadata") metadata = value;
    });
    form.on("file", (_name, stream) => {
      files += 1;
      stream.on("error", reject);
      stream.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        digest.update(chunk);
      });
    });
    form.once("error", reject);
    form.once("finish", () => resolve(files === 1 ? { metadata, bytes, sha256: digest.digest("hex") } : undefined));
    incoming.once("error", reject);
    incoming.once("close", () => incoming.complete || reject(new Error("the body broke off")));
    incoming.pipe(form);
  });

const parseMetadata = (text: string) => {
  try {
    return z.parse(Metadata, JSON.parse(text));
  } catch {
    return undefined;
  }
};

/** Stores a file under a request. 409 once checked out; 422 for a form that is not one, or a file with another SHA-256. */
export const putAttachment = async (
  cart: Cart,
  ids: { request: string; attachment: string },
  incoming: IncomingMessage,
): Promise<Reply> => {
  const form = await readForm(incoming).catch(() => undefined);
  if (cart.checked_out) return checkedOut;
  const metadata = form && parseMetadata(form.metadata);
  if (!form || !metadata) return refusal(422, "the body must be a form of metadata and one file");
  const { sha256 = form.sha256, ...told } = metadata;
  if (sha256 !== form.sha256) return refusal(422, "the file's SHA-256 is not the one announced");
  const place = `${ids.request}/${ids.attachment}`;
  const isNew = !cart.held.has(place);
  const received = countKey(cart, place, incoming.headers["idempotency-key"]);
  const held = { request_id: ids.request, attachment_id: ids.attachment, ...told, bytes: form.bytes, sha256, received };
  cart.held.set(place, held);
  return { status: isNew ? 201 : 200, body: held };
};

/** By how many keys a file was stored, this one included; without a key each time counts. */
const countKey = (cart: Cart, place: string, key: string | string[] | undefined): number => {
  const keys = cart.keys.get(place) ?? new Set();
  cart.keys.set(place, keys.add(typeof key === "string" ? `key ${key}` : `none ${keys.size}`));
  return keys.size;
};

/** Withdraws a file; one that is not there is withdrawn already. 409 once checked out. */
export const withdrawAttachment = (cart: Cart, ids: { request: string; attachment: string }): Reply => {
  if (cart.checked_out) return checkedOut;
  const place = `${ids.request}/${ids.attachment}`;
  const held = cart.held.get(place);
  if (held) cart.withdrawn.set(place, held);
  cart.held.delete(place);
  return { status: 200, body: { withdrawn: held !== undefined } };
};

/** Checks the cart out, once. */
export const checkOut = (cart: Cart): Reply => {
  if (cart.checked_out) return checkedOut;
  cart.checked_out = true;
  return { status: 200, body: { checked_out: true } };
};

/** Reads an unneeded body to its end, so that its sender gets the response. */
export const drained = async (incoming: IncomingMessage): Promise<void> => {
  incoming.resume();
  if (!incoming.readableEnded) await once(incoming, "close");
};
