import * as z from "zod/mini";
import type { SignedFile } from "../attachments/files.ts";
import { callCarrier, type Outcome, refusal, type Unsuccessful } from "./carrier-client.ts";
import { FileError, type FilePart, filePartBody } from "./carrier-form.ts";
import type { Receipt } from "./checkout-schema.ts";
import { checkoutLimits } from "./limits.ts";

/** The calls of the carrier's API. Repetitions of a call share its idempotency key. See README.md. */

const attachmentPath = (order: string, request: string, attachment: string) =>
  `/carts/${order}/requests/${request}/attachments/${attachment}`;

type ForwardedAttachment = { readonly order: string; readonly request: string; readonly receipt: Receipt };

export const putUpstream = (
  { order, request, receipt }: ForwardedAttachment,
  file: Pick<FilePart, "contentType" | "open"> & { readonly sign: () => Promise<SignedFile | undefined> },
): Promise<Outcome> => {
  const { attachment, version, bytes, sha256, sent, in_flight_until } = receipt;
  const metadata = { id: attachment, request_id: request, ...sent, content_type: file.contentType, bytes, sha256 };
  return callCarrier({
    method: "PUT",
    path: attachmentPath(order, request, attachment),
    // Changed metadata need another key.
    idempotencyKey: `forward-${request}-${attachment}-${version}`,
    // Callers choose the file before they know the attachment's id, so a file cannot contain the boundary.
    body: () => filePartBody(`patchbay-${request}-${attachment}`, metadata, { ...file, sent, bytes, sha256 }),
    described: async () => {
      const signed = await file.sign();
      if (!signed) throw new FileError("its file is gone from storage", true);
      if (signed.bytes !== bytes) throw new FileError("its stored file is not the one uploaded", false);
      const { content_type } = metadata;
      return { body: metadata, file: { url: signed.url, bytes, sha256, content_type, filename: sent.filename } };
    },
    bytes,
    ...(in_flight_until !== null && { endsBy: Date.parse(in_flight_until) - checkoutLimits.clockSkewMs }),
  });
};

/** Withdraws an attachment from a request. One that the carrier does not have counts as withdrawn. */
export const withdrawUpstream = ({ order, request, receipt }: ForwardedAttachment): Promise<Outcome> => {
  const { attachment, attempts } = receipt;
  return callCarrier({
    method: "DELETE",
    path: attachmentPath(order, request, attachment),
    // An attachment that was forwarded again must be withdrawn again.
    idempotencyKey: `withdraw-${request}-${attachment}-${attempts}`,
    alsoDone: [404, 410],
  });
};

/** Returns whether the cart is checked out: null if the carrier cannot say. */
export const askUpstream = async (
  order: string,
): Promise<Unsuccessful | { readonly kind: "answered"; readonly checkedOut: boolean | null }> => {
  const outcome = await callCarrier({ method: "GET", path: `/carts/${order}`, alsoDone: cannotSay });
  if (outcome.kind !== "done") return outcome;
  if (cannotSay.includes(outcome.status)) return { kind: "answered", checkedOut: null };
  const { data } = z.safeParse(CartState, outcome.json);
  if (data) return { kind: "answered", checkedOut: data.checked_out };
  return refusal(outcome.status, outcome.answer);
};

const CartState = z.object({ checked_out: z.boolean() });
const cannotSay: readonly number[] = [404, 405, 501];

/** Checks the cart out. 409 means that it is checked out already. */
export const checkOutUpstream = (order: string): Promise<Outcome> =>
  callCarrier({
    method: "POST",
    path: `/carts/${order}/checkout`,
    idempotencyKey: `checkout-${order}`,
    alsoDone: [409],
  });
