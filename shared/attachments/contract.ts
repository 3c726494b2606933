import * as z from "zod/mini";
import { alreadyTaken, problem, problemIn } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Contract } from "../route.ts";
import {
  documented,
  idProperty,
  ids,
  named,
  page,
  pageParameters,
  stated,
  statedId,
  timeProperties,
} from "../schema/documents.ts";
import { pick, Timestamp } from "../schema/fields.ts";
import type { ParentType } from "../table/keys.ts";
import { forwardedTypes } from "../tenants/tenant-schema.ts";
import * as schema from "./attachment-schema.ts";
import * as rows from "./routes.ts";

/** The documents, texts and examples of attachments' endpoints in the OpenAPI document. No function loads this file. */

const requestData = stated("RequestData", "Identifies a request.", statedId);
const RequestDocument = z.object({ type: z.literal("request"), data: requestData.schema });
const FileDocument = z.object({ type: z.literal("file"), data: schema.FileData });
const ForwardingDocument = z.object({ type: z.literal("forwarding"), data: schema.ForwardingData });

const associations = {
  file: [z.optional(FileDocument), "The stored file. Present if `include` requests it."],
  forwarding: [
    z.optional(ForwardingDocument),
    "The state of the attachment at the carrier. Present if `include` requests it.",
  ],
} as const;
const ofOrder = stated(
  "OrderAttachmentAssociations",
  "What an attachment of an order is associated with.",
  associations,
);
const orderData = stated("OrderData", "Identifies an order.", statedId);
const OrderDocument = z.object({ type: z.literal("order"), data: orderData.schema });
const ofRequest = stated("RequestAttachmentAssociations", "What an attachment of a request is associated with.", {
  request: [RequestDocument, "The request that the attachment belongs to. Its id stays the same after checkout."],
  order: [z.optional(OrderDocument), "The order that the request belongs to. Present if `include` requests it."],
  ...associations,
});

const uploadFile = {
  filename: "The name of the file.",
  content_type: "The media type of the file, without parameters.",
  bytes: "The size of the file, in bytes.",
  sha256: "The SHA-256 of the file, in hexadecimal.",
};

const uploadData = stated("UploadData", "A prepared direct upload: how to send the file, and until when.", {
  ...statedId,
  filename: [z.string(), uploadFile.filename],
  content_type: [z.string(), uploadFile.content_type],
  bytes: [schema.UploadBytes, uploadFile.bytes],
  sha256: [z.string(), uploadFile.sha256],
  method: [z.literal("PUT"), "The HTTP method to send the file with."],
  url: [z.url(), "Where to send the file. The URL is signed and grants access by itself: keep it secret."],
  headers: [
    z.record(z.string(), z.string()),
    "The headers to send the file with, exactly as given, without `Authorization` and `Content-Encoding`. `Content-Length` is `bytes`: HTTP clients set it themselves unless they send the file in chunks, which storage refuses.",
  ],
  expires_at: [Timestamp, "The file must be sent and the upload completed before this time."],
});

export const attachmentDocuments = {
  request_attachment: z.object({
    type: z.literal("request_attachment"),
    data: schema.AttachmentData,
    associations: ofRequest.schema,
  }),
  order_attachment: z.object({
    type: z.literal("order_attachment"),
    data: schema.AttachmentData,
    associations: z.optional(ofOrder.schema),
  }),
  upload: z.object({ type: z.literal("upload"), data: uploadData.schema }),
  request: RequestDocument,
  order: OrderDocument,
  file: FileDocument,
  forwarding: ForwardingDocument,
};

const newMetadata = {
  ...schema.metadataDescriptions,
  filename: "The name of the file. Defaults to the name of the uploaded file, without folders.",
};

const schemas = [
  named("AttachmentData", "An attachment: its metadata, without the file.", schema.AttachmentData, {
    ...idProperty,
    ...newMetadata,
    ...timeProperties,
  }),
  named("NewAttachment", "A new attachment with its file.", schema.NewAttachment, {
    file: "The file. Required, and not empty.",
    ...newMetadata,
    filename: `${newMetadata.filename} A client that percent-encodes that name, as React Native does from 0.77 on, sends it here, because percent signs are part of a name.`,
  }),
  named(
    "AttachmentCompleteData",
    "The metadata of the new attachment. Its file is that of the upload.",
    schema.NewMetadata,
    newMetadata,
  ),
  named(
    "AttachmentUpdateData",
    "The metadata to change. What is left out keeps its value.",
    schema.AttachmentChanges,
    pick(schema.AttachmentChanges, schema.metadataDescriptions),
  ),
  ofRequest,
  ofOrder,
  requestData,
  orderData,
  uploadData,
  named("FileData", "The stored file of an attachment.", schema.FileData, {
    bytes: "The size of the file, in bytes.",
    content_type: "The media type that the upload gave.",
    sha256: "The SHA-256 of the file, in hexadecimal.",
    detected_type: "The media type that the first bytes of the file indicate, or null if it is not known.",
    encrypted:
      "Whether a PDF is encrypted: whether it has an `/Encrypt` entry, with or without a password to open it. Null for any other file, and for a large PDF whose trailer is not in its first and last 128 KiB.",
  }),
  named("ForwardingData", "What the carrier has of an attachment.", schema.ForwardingData, {
    state: "The overall state: the least advanced of the requests' states.",
    requests:
      "The state by request: the attachment's own request or, for an attachment of an order, each request of the order whose attachments are forwarded. At most 100, those that are least advanced first.",
    requests_total: "How many requests there are.",
  }),
  named(
    "RequestForwarding",
    "What the carrier has of an attachment under one request.",
    schema.ForwardingData.shape.requests.def.element,
    {
      id: "The id of the request.",
      state:
        "`none`: not forwarded, because the request is of another type or because the attachment was added or changed after the checkout. `pending`: not yet accepted by the carrier. `refused`: rejected by the carrier or by the malware scan. `withdrawn`: withdrawn from the carrier. `forwarded`: the carrier has it.",
      at: "When the state was reached, or null if nothing has been sent.",
      reason:
        "For `refused`, the text of the carrier or of the malware scan for the customer. For `none`, that the attachment was added or changed after the checkout. Otherwise null.",
    },
  ),
  { name: "ForwardingState", schema: schema.ForwardingState },
  named("UploadCreateData", "The file to be sent.", schema.UploadFile, uploadFile),
];

const include = {
  order: "the order of the request.",
  file: "the size, the type and the hash of the file.",
  forwarding: "its state at the carrier.",
};
const referenceText = "Returns only the attachment with this `reference_id`. Cannot be combined with cursors.";

const scan = {
  filename: "bills-2026.tiff",
  content_type: "image/tiff",
  bytes: 48_302_114,
  sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
};

/** A prepared upload, with a shortened S3 URL. */
const prepared = () => ({
  id: ids.upload,
  ...scan,
  method: "PUT",
  url: `https://files.example/attachments/2026/11/21/${ids.upload}?X-Amz-Expires=3600&X-Amz-Signature=3f1c`,
  headers: {
    "Content-Type": scan.content_type,
    "If-None-Match": "*",
    "x-amz-checksum-sha256": Buffer.from(scan.sha256, "hex").toString("base64"),
  },
  expires_at: "2026-11-21T10:14:03.217Z",
});

const insertedAt = (time: string) => ({ inserted_at: time, updated_at: time });

const letter = () => ({
  id: ids.attachment,
  ...schema.metadataExample,
  filename: "loa-2125550142.pdf",
  ...insertedAt("2026-11-21T09:14:03.217Z"),
});

const bill = () => ({
  id: ids.otherAttachment,
  ...schema.minimalMetadata("Latest bill"),
  filename: "bill-2026-10.pdf",
  ...insertedAt("2026-11-21T09:15:41.802Z"),
});

const bills = () => ({
  id: ids.upload,
  ...schema.minimalMetadata("Bills of 2026"),
  filename: scan.filename,
  ...insertedAt("2026-11-21T09:20:36.194Z"),
});

const file = {
  type: "file",
  data: {
    bytes: 48_213,
    content_type: "application/pdf",
    sha256: "3f0c8e5bb7d1a9e2c64f0b1d7a58e9c3b2d4f6a8091c3e5d7f9b1a3c5e7d9f0b",
    detected_type: "application/pdf",
    encrypted: false,
  },
};

const forwarding = () => ({
  type: "forwarding",
  data: {
    state: "forwarded",
    requests: [{ id: ids.request, state: "forwarded", at: "2026-11-22T08:00:12.604Z", reason: null }],
    requests_total: 1,
  },
});

const scope = {
  request: "The attachment belongs to this request only. It remains available after checkout.",
  order: "The attachment belongs to the order and is available to every request in it.",
};

const forwarded = [
  `Checkout sends the attachments of each ${forwardedTypes.map((type) => `\`${type}\``).join(" or ")} request, and of its order, to the carrier.`,
  "**An attachment that is created after the checkout does not reach the carrier**, although the response is 201: `include=forwarding` returns the state `none` and the reason.",
].join(" ");

const unusableUpload = (detail: string) => [problemIn("path", "/upload_id", "constraint.reference", detail)];

const routesOf = (parent: ParentType) => {
  const one = { request: "a request", order: "an order" }[parent];
  const type = `${parent}_attachment`;
  const document = (data: schema.AttachmentData, included?: object) =>
    schema.attachmentDocument({ type: parent, id: ids[parent] }, data, included);
  const parts = Object.entries({ ...schema.metadataExample, filename: letter().filename });
  const changes = { name: "Letter of authorization, countersigned", notes: null };
  const referenceInUse = alreadyTaken("/data/reference_id", { id: ids.otherAttachment, type });
  return [
    documented(rows.createAttachmentRoutes[parent], {
      summary: `Upload a document to ${one}`,
      description: `Stores a file and its metadata. ${scope[parent]}\n\nTexts are UTF-8, or in the \`charset\` that their part declares, and the body has no \`Content-Encoding\`. A file that is too large for a form needs a direct upload.\n\n${forwarded}`,
      body: { type, ...Object.fromEntries(parts.map(([name, value]) => [`data[${name}]`, value])) },
      response: document(letter()),
      invalid: {
        "The file and the name are missing": [
          problem("file", "constraint.required", "can't be blank"),
          problem("name", "constraint.required", "can't be blank"),
        ],
        "The file_hint is unknown": [
          problem("file_hint", "constraint.enum", "must be one of DEFAULT, LOA", { allowed: ["DEFAULT", "LOA"] }),
        ],
        "The reference_id is in use": [referenceInUse],
      },
    }),
    documented(rows.listAttachmentsRoutes[parent], {
      summary: `List ${one}'s attachments`,
      description: `Lists the ${parent}'s own attachments. Reads are strongly consistent: the list includes every attachment whose creation has been confirmed.`,
      query: { ...pageParameters, reference_id: referenceText, include },
      response: page(document(letter()), document(bill())),
      others: { "With include=file": page(document(letter(), { file })) },
    }),
    documented(rows.showAttachmentRoutes[parent], {
      summary: `Show ${one}'s attachment`,
      description: "Returns the metadata of the attachment. The file cannot be downloaded.",
      query: { include },
      response: document(letter()),
      others: { "With include=file,forwarding": document(letter(), { file, forwarding: forwarding() }) },
    }),
    documented(rows.updateAttachmentRoutes[parent], {
      summary: `Update ${one}'s attachment`,
      description:
        "Updates the metadata. Omitted properties keep their values; `notes: null` clears the notes. `inserted_at` and `updated_at` are ignored, so a whole document can be sent back. The file cannot be replaced. A change after the checkout does not reach the carrier.",
      body: { type, data: changes },
      response: document({ ...letter(), ...changes, updated_at: "2026-11-21T10:02:55.046Z" }),
      invalid: {
        "The name is blank": [problem("name", "constraint.required", "can't be blank")],
        "The reference_id is changed": [problem("reference_id", "constraint.immutable", "can't be changed")],
      },
    }),
    documented(rows.deleteAttachmentRoutes[parent], {
      summary: `Delete ${one}'s attachment`,
      description:
        "Permanently deletes the file and its metadata, and returns the deleted document. After the checkout, the carrier keeps what it has received.",
      response: document(letter()),
    }),
    documented(rows.createUploadRoutes[parent], {
      summary: `Prepare a direct upload to ${one}`,
      description: `Prepares a direct upload of a file of up to ${limits.uploadBytes.toLocaleString("en")} bytes. Send the file to \`url\` using \`method\` and exactly the returned \`headers\`. Then complete the upload. Both must happen before \`expires_at\`. The URL accepts only a file with this length, media type and SHA-256, and accepts it once: if a PUT whose response was lost is repeated, storage returns 412, which means that the file is already stored, or 409 while it still receives the first: repeat the PUT after a moment. An upload can be used for one attachment of this ${parent}, which gets the same id. Unused uploads are removed. The programs in \`docs/examples\` send such files.`,
      body: { type: "upload", data: scan },
      response: { type: "upload", data: prepared() },
      invalid: {
        "The file is too large": [
          problem("bytes", "constraint.range", `must be at most ${limits.uploadBytes}`, {
            minimum: 1,
            maximum: limits.uploadBytes,
          }),
        ],
        "The SHA-256 is not valid": [problem("sha256", "constraint.format", "must be 64 hexadecimal digits")],
      },
    }),
    documented(rows.completeUploadRoutes[parent], {
      summary: `Complete a direct upload to ${one}`,
      description: `Creates an attachment from a file that a direct upload has sent to storage. The attachment has the id of the upload. ${scope[parent]}\n\nA failed request does not use up the upload.\n\n${forwarded}`,
      body: { type, data: { name: "Bills of 2026", file_hint: "DEFAULT" } },
      response: document(bills()),
      invalid: {
        "The file has not arrived": unusableUpload("has no file yet"),
        "The upload has been used": unusableUpload("has already been used"),
        "The reference_id is in use": [referenceInUse],
      },
    }),
  ];
};

export const attachmentContract: Contract = {
  routes: [...routesOf("request"), ...routesOf("order")],
  documents: attachmentDocuments,
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
  schemas,
};
