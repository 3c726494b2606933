import { callCarrier, type Outcome } from "./carrier.ts";
import { type FilePart, filePartBody } from "./carrier-form.ts";

/** The carrier's protocol: its three calls, each with the key that its repetitions share. README, "The carrier". */

const attachmentPath = (order: string, request: string, attachment: string) =>
  `/carts/${order}/requests/${request}/attachments/${attachment}`;

export type Forwarded = { readonly order: string; readonly request: string; readonly attachment: string };

/** Puts an attachment and its file under a request. */
export const putUpstream = ({ order, request, attachment }: Forwarded, file: FilePart): Promise<Outcome> => {
  const { sent, contentType, bytes, sha256 } = file;
  const metadata = { id: attachment, request_id: request, ...sent, content_type: contentType, bytes, sha256 };
  return callCarrier({
    method: "PUT",
    path: attachmentPath(order, request, attachment),
    idempotencyKey: `forward-${request}-${attachment}`,
    // Made after the file was uploaded, the id cannot occur in it by design.
    body: () => filePartBody(`patchbay-${request}-${attachment}`, metadata, file),
  });
};

/** Withdraws an attachment from a request; one that the carrier does not have is withdrawn. */
export const withdrawUpstream = ({ order, request, attachment }: Forwarded): Promise<Outcome> =>
  callCarrier({
    method: "DELETE",
    path: attachmentPath(order, request, attachment),
    idempotencyKey: `withdraw-${request}-${attachment}`,
    settled: [404, 410],
  });

/** Checks the cart out; 409 says that it is checked out already. */
export const checkOutUpstream = (order: string): Promise<Outcome> =>
  callCarrier({
    method: "POST",
    path: `/carts/${order}/checkout`,
    idempotencyKey: `checkout-${order}`,
    settled: [409],
  });
