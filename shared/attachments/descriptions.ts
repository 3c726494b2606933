import type { Descriptions } from "../schema/descriptions.ts";
import { metadataDescriptions } from "./schema.ts";

/** The texts about attachments in the OpenAPI document. No function loads this file. */
export const attachmentDescriptions = {
  tags: {
    request_attachment: {
      name: "Request attachments",
      description: "Supporting files of one request within an order.",
    },
    order_attachment: {
      name: "Order attachments",
      description: "Supporting files of a whole order, available to each of its requests.",
    },
  },
  properties: {
    ...metadataDescriptions,
    filename: "The name of the file. Defaults to the name of the uploaded file.",
    "UploadCreateData.filename": "The name of the file.",
    "UploadData.filename": "The name of the file.",
    upload_id: "The id of a direct upload that was prepared for this request or order, and whose file has been sent.",
    content_type: "The media type of the file, without parameters.",
    bytes: "The size of the file, in bytes.",
    sha256: "The SHA-256 of the file, in hexadecimal.",
    method: "The HTTP method to send the file with.",
    url: "Where to send the file. The URL is signed and grants access by itself: keep it secret.",
    headers:
      "The headers to send the file with, exactly as given. HTTP clients usually set `Content-Length` by themselves.",
    expires_at: "The file must be sent and the attachment created before this time.",
    file: "The file. Required, and not empty.",
    forwarding: "The state of the attachment at the carrier. Present if `include` requests it.",
    "RequestAttachmentAssociations.file": "The stored file. Present if `include` requests it.",
    "OrderAttachmentAssociations.file": "The stored file. Present if `include` requests it.",
    "FileData.content_type": "The media type that the upload gave.",
    detected_type: "The media type that the first bytes of the file indicate, or null if they indicate none.",
    encrypted:
      "Whether a PDF is encrypted: whether it has an `/Encrypt` entry, with or without a password to open it. Null for any other file.",
    state:
      "`none`: not forwarded. `pending`: not yet accepted by the carrier. `refused`: rejected by the carrier. `withdrawn`: withdrawn from the carrier. `forwarded`: the carrier has it.",
    "ForwardingData.state": "The overall state: the least advanced of the requests' states.",
    requests:
      "The state by request: the attachment's own request or, for an attachment of an order, each request of the order whose attachments are forwarded.",
    at: "When the state was reached, or null if nothing has been sent.",
    request: "The request that the attachment belongs to. Its id stays the same after checkout.",
  },
  query: {
    reference_id: "Returns only the attachment with this `reference_id`. Cannot be combined with cursors.",
    include: "What to return with each document under `associations`, separated by commas.",
    "include.file": "the size, the type and the hash of the file.",
    "include.forwarding": "its state at the carrier.",
  },
  schemaNames: {
    State: "ForwardingState",
    ForwardingRequestsItem: "RequestForwarding",
    RequestAttachmentData: "AttachmentData",
    OrderAttachmentData: "AttachmentData",
    RequestAttachmentUpdateData: "AttachmentUpdateData",
    OrderAttachmentUpdateData: "AttachmentUpdateData",
  },
} as const satisfies Descriptions;
