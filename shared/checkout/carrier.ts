import type { SignedFile } from "../attachments/files.ts";
import { callCarrier, type Outcome } from "./carrier-client.ts";
import { FileError, type FilePart, filePartBody } from "./carrier-form.ts";
import { checkoutLimits } from "./limits.ts";
import type { Receipt } from "./schema.ts";

/** The three calls of the carrier's API. Repetitions of a call share its idempotency key. See README.md. */

const attachmentPath = (order: string, request: string, attachment: string) =>
  `/carts/${order}/requests/${request}/attachments/${attachment}`;

type ForwardedAttachment = { readonly order: string; readonly request: string; readonly receipt: Receipt };

/** Sends an attachment and its file under a request. */
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

/** Checks the cart out. 409 means that it is checked out already. */
export const checkOutUpstream = (order: string): Promise<Outcome> =>
  callCarrier({
    method: "POST",
    path: `/carts/${order}/checkout`,
    idempotencyKey: `checkout-${order}`,
    alsoDone: [409],
  });
