import { metadataExample, minimalMetadata } from "../../../shared/attachments/schema.ts";
import { alreadyTaken } from "../../../shared/errors.ts";
import { type Example, includeProblem, page, pageProblems, problem } from "./example.ts";
import { ids } from "./ids.ts";

const sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

const scan = {
  filename: "bills-2026.tiff",
  content_type: "image/tiff",
  bytes: 48_302_114,
  sha256,
};

/** A signed URL of S3, with a shortened query. */
const signedUrl =
  "https://files.example/attachments/2026/11/21/01K9Z4W8D0F2H4K6N8Q0S2V4X6?X-Amz-Expires=3600&X-Amz-Signature=3f1c";

const upload = {
  id: ids.upload,
  ...scan,
  method: "PUT",
  url: signedUrl,
  headers: {
    "Content-Length": String(scan.bytes),
    "Content-Type": scan.content_type,
    "If-None-Match": "*",
    "x-amz-checksum-sha256": Buffer.from(sha256, "hex").toString("base64"),
  },
  expires_at: "2026-11-21T10:14:03.217Z",
};

const uploadLimits = {
  "The file is too large": [problem("/data/bytes", "constraint.range", "must be at most 104857600")],
  "The SHA-256 is not valid": [problem("/data/sha256", "constraint.format", "must be 64 hexadecimal digits")],
};

const letter = {
  id: ids.attachment,
  ...metadataExample,
  filename: "loa-2125550142.pdf",
  inserted_at: "2026-11-21T09:14:03.217Z",
  updated_at: "2026-11-21T09:14:03.217Z",
};

const bill = {
  id: ids.otherAttachment,
  ...minimalMetadata("Latest bill"),
  filename: "bill-2026-10.pdf",
  inserted_at: "2026-11-21T09:15:41.802Z",
  updated_at: "2026-11-21T09:15:41.802Z",
};

const changes = { name: "Letter of authorization, countersigned", notes: null };

const dataParts = Object.entries({ ...metadataExample, filename: letter.filename });
const parts = {
  "data[file]": "%PDF-1.7 ...",
  ...Object.fromEntries(dataParts.map(([name, value]) => [`data[${name}]`, value])),
};

const uploadFaults = (type: string) => ({
  "The file and the name are missing": [
    problem("/data/file", "constraint.required", "can't be blank"),
    problem("/data/name", "constraint.required", "can't be blank"),
  ],
  "The file_hint is unknown": [problem("/data/file_hint", "constraint.enum", "must be one of DEFAULT, LOA")],
  "The reference_id is in use": [alreadyTaken("/data/reference_id", { id: ids.otherAttachment, type })],
  "The file of the upload has not arrived": [problem("/data/upload_id", "constraint.reference", "has no file yet")],
});

const referenceFaults: NonNullable<Example["invalid"]> = {
  "The reference_id is not a UUID": [
    { in: "query", pointer: "/reference_id", sub_code: "constraint.format", detail: "must be a UUID" },
  ],
};

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

const carrierHasReceived = {
  type: "forwarding",
  data: {
    state: "forwarded",
    requests: [{ id: ids.request, state: "forwarded", at: "2026-11-22T08:00:12.604Z" }],
  },
};

const updateFaults = {
  "The name is blank": [problem("/data/name", "constraint.required", "can't be blank")],
  "The reference_id is changed": [problem("/data/reference_id", "constraint.immutable", "can't be changed")],
};

const scope = {
  request: "The attachment belongs to this request only. It remains available after checkout.",
  order: "The attachment belongs to the order and is available to every request in it.",
};

const forwarding =
  "At checkout, the attachments of each request of type `ADD_MESSAGING_NUMBERS` and of its order are forwarded to the upstream carrier.";

/** The examples of the attachments of requests or of orders. */
export const attachmentExamples = (parent: "request" | "order"): Readonly<Record<string, Example>> => {
  const type = `${parent}_attachment`;
  const associations = { request: { type: "request", data: { id: ids.request } } };
  const document = (data: unknown) => ({ type, data, ...(parent === "request" && { associations }) });
  const including = (data: unknown, included: object) => ({
    type,
    data,
    associations: { ...(parent === "request" && associations), ...included },
  });
  const changed = { ...letter, ...changes, updated_at: "2026-11-21T10:02:55.046Z" };
  return {
    [`${parent}-attachments/create`]: {
      description: `Stores a file and its metadata. ${scope[parent]}\n\nTo upload a file that is too large for a form, prepare a direct upload, send the file to its \`url\`, and then create the attachment with a JSON body that has the \`upload_id\` in place of the file.\n\n${forwarding}`,
      body: { type, ...parts },
      json: { type, data: { upload_id: ids.upload, name: "Bills of 2026", file_hint: "DEFAULT" } },
      response: document(letter),
      invalid: uploadFaults(type),
    },
    [`${parent}-attachments/create-upload`]: {
      description: `Prepares a direct upload of a file of up to 104,857,600 bytes. Send the file to \`url\` using \`method\` and exactly the returned \`headers\`. Then create the attachment, with the id of the upload as its \`upload_id\`. Both must happen before \`expires_at\`. The URL accepts only a file with this length, media type and SHA-256, and accepts it once: if a PUT whose response was lost is repeated, storage returns 412, which means that the file is there. An upload can be used for one attachment of this ${parent}, which gets the same id. Unused uploads are removed.`,
      body: { type: "upload", data: scan },
      response: { type: "upload", data: upload },
      invalid: uploadLimits,
    },
    [`${parent}-attachments/list`]: {
      description: `Lists the ${parent}'s own attachments. Reads are strongly consistent: the list includes every attachment whose creation has been confirmed.`,
      response: page(document(letter), document(bill)),
      others: { "With include=file": page(including(letter, { file })) },
      invalid: {
        ...pageProblems,
        ...referenceFaults,
        ...includeProblem(...(parent === "request" ? ["file", "forwarding"] : ["file"])),
      },
    },
    [`${parent}-attachments/show`]: {
      description: "Returns the metadata of the attachment. The file cannot be downloaded.",
      response: document(letter),
      others: { "With include=file,forwarding": including(letter, { file, forwarding: carrierHasReceived }) },
      invalid: includeProblem("file", "forwarding"),
    },
    [`${parent}-attachments/update`]: {
      description:
        "Updates the metadata. Omitted properties keep their values; `notes: null` clears the notes. The file cannot be replaced.",
      body: { type, data: changes },
      response: document(changed),
      invalid: updateFaults,
    },
    [`${parent}-attachments/delete`]: {
      description: "Permanently deletes the file and its metadata, and returns the deleted document.",
      response: document(letter),
    },
  };
};
