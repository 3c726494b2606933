import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { Busboy } from "@fastify/busboy";
import * as z from "zod/mini";
import { SentMetadata } from "../../shared/attachments/attachment-schema.ts";
import { parseJson, readJsonFile, writeJson } from "./json-file.ts";
import type { Reply } from "./listen.ts";

/** The carts of the simulated carrier. They contain the size and the SHA-256 of each file, but not its content. */

const Metadata = z.object({
  ...SentMetadata.shape,
  id: z.optional(z.string()),
  request_id: z.optional(z.string()),
  bytes: z.optional(z.number()),
  sha256: z.optional(z.string()),
});

const StoredFile = z.object({
  request_id: z.string(),
  attachment_id: z.string(),
  ...SentMetadata.shape,
  bytes: z.number(),
  sha256: z.string(),
  /** The key of the PUT that stored it. */
  idempotency_key: z.nullable(z.string()),
  /** The number of different idempotency keys that stored it. More than one means that the file was sent twice. */
  received: z.number(),
});

const ReceivedCall = z.object({
  method: z.string(),
  path: z.string(),
  status: z.nullable(z.number()),
  idempotency_key: z.nullable(z.string()),
});
export type ReceivedCall = z.infer<typeof ReceivedCall>;

const Answer = z.object({ status: z.number(), body: z.optional(z.unknown()) });

/** The body of the POST, which has the attachments that the caller takes the cart to have. */
export const Manifest = z.object({
  attachments: z.array(
    z.object({ request_id: z.string(), id: z.string(), idempotency_key: z.string(), sha256: z.string() }),
  ),
});
export type Manifest = z.infer<typeof Manifest>;

const byName = <S extends z.core.$ZodType>(value: S) => z.record(z.string(), value);

const Cart = z.object({
  checked_out: z.boolean(),
  /** `held` and `withdrawn` are by `<request id>/<attachment id>`. */
  held: byName(StoredFile),
  withdrawn: byName(StoredFile),
  calls: z.array(ReceivedCall),
  /** The responses to repeat, by method, path and idempotency key. */
  answers: byName(Answer),
});
export type Cart = z.infer<typeof Cart>;

export const emptyCart = (): Cart => ({ checked_out: false, held: {}, withdrawn: {}, calls: [], answers: {} });

/** Empties a cart, except for the record of its calls. */
export const forget = (cart: Cart): void => {
  Object.assign(cart, { ...emptyCart(), calls: cart.calls });
};

/** Carts by order id, in memory or in the files of a folder. A cart whose file is damaged is empty. */
export const cartStore = (folder?: string) => {
  const carts = new Map<string, Cart>();
  const fileOf = (orderId: string) => folder && join(folder, `${encodeURIComponent(orderId)}.json`);
  return {
    find: (orderId: string): Cart => {
      const file = fileOf(orderId);
      const cart = carts.get(orderId) ?? (file ? readJsonFile(Cart, file) : undefined) ?? emptyCart();
      carts.set(orderId, cart);
      return cart;
    },
    save: (orderId: string): void => {
      const [file, cart] = [fileOf(orderId), carts.get(orderId)];
      if (file && cart) writeJson(file, cart);
    },
  };
};

/** A cart as `GET /carts/{order}` returns it. The checkout and people read it. */
export const cartDocument = ({ checked_out, held, withdrawn, calls }: Cart) => ({
  checked_out,
  attachments: Object.values(held),
  withdrawn: Object.values(withdrawn),
  calls,
});

const rejection = (status: number, error: string): Reply => ({ status, body: { error } });
const checkedOut = rejection(409, "the cart is checked out");

export type FileForm = { readonly metadata: string; readonly bytes: number; readonly sha256: string };

/** Streams the form of a PUT. Resolves with undefined if it does not have exactly one file, or is cut off. */
export const readFileForm = (incoming: IncomingMessage): Promise<FileForm | undefined> =>
  new Promise<FileForm | undefined>((resolve, reject) => {
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
    incoming.pipe(form);
  }).catch(() => undefined);

/** A complete call of the protocol in docs/carrier.md. */
export type CartCall = {
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | null;
  /** The form of a PUT, or undefined if it is invalid. */
  readonly form?: FileForm | undefined;
  /** The manifest of a POST, or null if it is invalid. A carrier that does not compare its cart has none. */
  readonly manifest?: Manifest | null | undefined;
};

/** Handles a call. For calls with the same idempotency key, repeats the first successful response. */
export const handleCall = (cart: Cart, call: CartCall): Reply => {
  if (call.method === "GET") return act(cart, call);
  if (!call.idempotencyKey) return rejection(400, "the Idempotency-Key is missing");
  const key = `${call.method} ${call.path} ${call.idempotencyKey}`;
  const earlier = cart.answers[key];
  if (earlier) return earlier;
  const reply = act(cart, call);
  if (reply.status < 300) cart.answers[key] = reply;
  return reply;
};

const act = (cart: Cart, call: CartCall): Reply => {
  const { method, path } = call;
  const [, request, attachment] = /^\/carts\/[^/]+\/requests\/([^/]+)\/attachments\/([^/]+)$/.exec(path) ?? [];
  if (request && attachment && method === "PUT") return putAttachment(cart, { request, attachment }, call);
  if (request && attachment && method === "DELETE") return withdrawAttachment(cart, { request, attachment });
  if (/^\/carts\/[^/]+\/checkout$/.test(path) && method === "POST") return checkOut(cart, call);
  if (/^\/carts\/[^/]+$/.test(path) && method === "GET") return { status: 200, body: cartDocument(cart) };
  return { status: 404, body: { error: "not found" } };
};

type Ids = { readonly request: string; readonly attachment: string };

/** An invalid body is a 400, because a 422 would refuse the letter. */
const putAttachment = (cart: Cart, ids: Ids, { form, path, idempotencyKey }: CartCall): Reply => {
  if (cart.checked_out) return checkedOut;
  const metadata = form && parseJson(Metadata, form.metadata);
  if (!form || !metadata) return rejection(400, "the body must be a form of metadata and one file");
  const { id = ids.attachment, request_id = ids.request, bytes = form.bytes, sha256 = form.sha256, ...sent } = metadata;
  if (id !== ids.attachment || request_id !== ids.request)
    return rejection(400, "the ids in the metadata differ from those in the path");
  if (bytes !== form.bytes || sha256 !== form.sha256)
    return rejection(400, "the size or the SHA-256 of the file differs from the metadata's");
  const place = `${ids.request}/${ids.attachment}`;
  const isNew = cart.held[place] === undefined;
  // `handleCall` repeats the response to a key that has already stored the file.
  const received = 1 + Object.keys(cart.answers).filter((call) => call.startsWith(`PUT ${path} `)).length;
  const stored = { ...sent, bytes: form.bytes, sha256, idempotency_key: idempotencyKey, received };
  const file = { request_id: ids.request, attachment_id: ids.attachment, ...stored };
  cart.held[place] = file;
  return { status: isNew ? 201 : 200, body: file };
};

const withdrawAttachment = (cart: Cart, ids: Ids): Reply => {
  if (cart.checked_out) return checkedOut;
  const place = `${ids.request}/${ids.attachment}`;
  const file = cart.held[place];
  if (file) cart.withdrawn[place] = file;
  delete cart.held[place];
  return { status: 200, body: { withdrawn: file !== undefined } };
};

const checkOut = (cart: Cart, { manifest }: CartCall): Reply => {
  if (cart.checked_out) return checkedOut;
  if (manifest === null)
    return rejection(
      400,
      "the body must be JSON with attachments, each with request_id, id, idempotency_key and sha256",
    );
  if (manifest && !isSame(cart, manifest)) return { status: 412, body: difference(cart) };
  cart.checked_out = true;
  return { status: 200, body: { checked_out: true } };
};

/** Whether the cart has what the manifest lists, stored by the same calls, and nothing else. */
const isSame = ({ held }: Cart, { attachments }: Manifest): boolean => {
  const listed = new Map(attachments.map((one) => [`${one.request_id}/${one.id}`, one]));
  return (
    listed.size === attachments.length &&
    listed.size === Object.keys(held).length &&
    Object.entries(held).every(([place, { idempotency_key, sha256 }]) => {
      const one = listed.get(place);
      return one?.idempotency_key === idempotency_key && one.sha256 === sha256;
    })
  );
};

const difference = ({ held }: Cart) => ({
  error: "the cart differs from the manifest",
  attachments: Object.values(held).map(({ request_id, attachment_id: id, idempotency_key }) => ({
    request_id,
    id,
    idempotency_key,
  })),
});
