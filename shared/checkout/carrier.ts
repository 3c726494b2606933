import { createHash } from "node:crypto";
import * as z from "zod/mini";
import type { SignedFile } from "../attachments/files.ts";
import { newId } from "../schema/fields.ts";
import { type CarrierResponse, callCarrier, describeFailure, describeRefusal } from "./carrier-client.ts";
import { FileError, type FilePart, filePartBody } from "./carrier-form.ts";
import type { Receipt } from "./checkout-schema.ts";
import { lateMs } from "./limits.ts";

/** The calls of the carrier's API. Repetitions of a call share its idempotency key. See docs/carrier.md. */

/**
 * Draws the idempotency key of a call. An announced call that is not decided keeps its key, unless something else is sent: a key ends
 * with the hash of the content that it was drawn for.
 */
export const keyFor = (content: string, undecided: string): string => {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 16);
  return undecided.endsWith(`-${hash}`) ? undecided : `${newId()}-${hash}`;
};

const attachmentPath = (order: string, request: string, attachment: string) =>
  `/carts/${order}/requests/${request}/attachments/${attachment}`;

/** Returns when every attempt of an announced call must have ended. */
const endOf = (in_flight_until: string | null, bytes: number) =>
  in_flight_until === null ? {} : { endsBy: Date.parse(in_flight_until) - lateMs(bytes) };

/** What the carrier gets with the file. */
export const metadataOf = (
  request: string,
  { attachment, sent, bytes, sha256 }: Pick<Receipt, "attachment" | "sent" | "bytes" | "sha256">,
  content_type: string,
) => ({ id: attachment, request_id: request, ...sent, content_type, bytes, sha256 });

type ForwardedAttachment = { readonly order: string; readonly request: string; readonly receipt: Receipt };

export const putUpstream = (
  { order, request, receipt }: ForwardedAttachment,
  file: Pick<FilePart, "contentType" | "open"> & { readonly sign: () => Promise<SignedFile | undefined> },
): Promise<CarrierResponse> => {
  const { attachment, bytes, sha256, sent, in_flight_until } = receipt;
  const metadata = metadataOf(request, receipt, file.contentType);
  return callCarrier({
    method: "PUT",
    path: attachmentPath(order, request, attachment),
    idempotencyKey: receipt.key,
    // Callers choose the file before they know the attachment's id, so a file cannot contain the boundary.
    body: () => filePartBody(`patchbay-${request}-${attachment}`, metadata, { ...file, sent, bytes, sha256 }),
    described: async () => {
      const signed = await file.sign();
      if (!signed) throw new FileError("its file is missing from storage", { gone: true });
      if (signed.bytes !== bytes) throw new FileError("its stored file is not the one uploaded");
      const { content_type } = metadata;
      return { body: metadata, file: { url: signed.url, bytes, sha256, content_type, filename: sent.filename } };
    },
    bytes,
    ...endOf(in_flight_until, bytes),
  });
};

/** Withdraws an attachment from a request. One that the carrier does not have counts as withdrawn. */
export const withdrawUpstream = ({ order, request, receipt }: ForwardedAttachment): Promise<CarrierResponse> => {
  const { attachment, key, in_flight_until } = receipt;
  return callCarrier({
    method: "DELETE",
    path: attachmentPath(order, request, attachment),
    idempotencyKey: key,
    ...endOf(in_flight_until, 0),
  });
};

/** The carrier's response about a cart. `later` means that the response was not usable, for the reason in `failure`. */
export type CartAnswer =
  | { readonly cart: "checked out" | "open" | "cannot say" }
  | { readonly cart: "later"; readonly failure: string; readonly wait_seconds: number };

/** Asks whether the cart is checked out. A 4xx and 501 mean that the carrier cannot say. */
export const askUpstream = async (order: string): Promise<CartAnswer> => {
  const response = await callCarrier({ method: "GET", path: `/carts/${order}` });
  const { settles, json, wait_seconds } = response;
  if (settles !== "done" && settles !== "nothing") return { cart: "cannot say" };
  const { data } = z.safeParse(CartDocument, settles === "done" ? json : undefined);
  if (data) return { cart: data.checked_out ? "checked out" : "open" };
  const isSuccess = response.status !== null && response.status < 300;
  const failure = isSuccess
    ? `its response lacks the boolean checked_out (${describeRefusal(response)})`
    : describeFailure(response);
  return { cart: "later", failure, wait_seconds };
};

const CartDocument = z.object({ checked_out: z.boolean() });

/**
 * The body of the checkout's POST. It lists what the cart has, according to the receipts. A carrier that compares it with its cart
 * refuses with 412 to check out a cart that differs.
 */
export type Manifest = {
  readonly attachments: readonly {
    readonly request_id: string;
    readonly id: string;
    /** The key of the last PUT that the carrier has confirmed. */
    readonly idempotency_key: string;
    readonly sha256: string;
  }[];
};

/** Checks the cart out. `endsBy` is when every attempt must have ended, in milliseconds. */
export const checkOutUpstream = (
  order: string,
  manifest: Manifest,
  idempotencyKey: string,
  endsBy: number,
): Promise<CarrierResponse> => {
  const content = Buffer.from(JSON.stringify(manifest));
  const body = {
    headers: { "Content-Type": "application/json", "Content-Length": String(content.length) },
    chunks: async function* () {
      yield content;
    },
    failure: () => undefined,
  };
  return callCarrier({
    method: "POST",
    path: `/carts/${order}/checkout`,
    idempotencyKey,
    body: () => body,
    described: async () => ({ body: manifest, file: null }),
    endsBy,
  });
};
