import type { Descriptions } from "../schema/descriptions.ts";
import { metadataDescriptions } from "./schema.ts";

/** What the OpenAPI document says about attachments. No function loads it. */
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
    bytes: "The length of the file.",
    sha256: "The SHA-256 of the file, in hexadecimal.",
    method: "The HTTP method with which to send the file.",
    url: "Where to send the file. The URL is signed and grants access by itself: keep it secret.",
    headers:
      "Exactly the headers with which to send the file. HTTP clients usually set `Content-Length` by themselves.",
    expires_at: "The file must be sent and the attachment created before this time.",
    file: "The file. Required, and not empty.",
    forwarding: "What the carrier has of the attachment. Present if `include` asks for it.",
    "RequestAttachmentAssociations.file": "The stored file. Present if `include` asks for it.",
    "OrderAttachmentAssociations.file": "The stored file. Present if `include` asks for it.",
    "FileData.content_type": "The media type that the upload gave.",
    detected_type: "The media type that the first bytes of the file show, or null if they show none.",
    encrypted:
      "Whether a PDF asks for a password to be opened. False also where a password only restricts printing or editing. Null for any other file.",
    state:
      "`none`: not forwarded. `pending`: not yet accepted by the carrier. `refused`: rejected by the carrier. `withdrawn`: withdrawn from the carrier. `forwarded`: the carrier has it.",
    "ForwardingData.state": "The state as a whole: the least advanced of the requests' states.",
    requests:
      "The state by request: the attachment's own request or, for an attachment of an order, each request of the order whose attachments are forwarded.",
    at: "When the state was reached, or null if nothing has been sent.",
    request: "The request that the attachment belongs to. Its id stays the same after checkout.",
  },
  query: {
    reference_id: "Returns only the attachment with this `reference_id`. Cannot be combined with cursors.",
    include: "What to return with each document under `associations`, separated by commas.",
    "include.file": "the size, the type and the hash of the file.",
    "include.forwarding": "what the carrier has of it.",
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
