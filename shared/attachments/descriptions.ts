import type { Descriptions } from "../schema/descriptions.ts";

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
    name: "The display name.",
    notes: "Free text. An empty string is stored as null.",
    file_hint: "The kind of document: `DEFAULT` for a general document, `LOA` for a letter of authorization.",
    reference_id: "An identifier chosen by the caller, unique within the request or the order.",
    filename: "The name of the file. Defaults to the name of the uploaded file.",
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
    request: "The request that the attachment belongs to. Its id stays the same after checkout.",
  },
  schemaNames: {
    RequestAttachmentData: "AttachmentData",
    OrderAttachmentData: "AttachmentData",
    RequestAttachmentUpdateData: "AttachmentUpdateData",
    OrderAttachmentUpdateData: "AttachmentUpdateData",
  },
} as const satisfies Descriptions;
