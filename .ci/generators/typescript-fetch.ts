/** Uses the client that openapi-generator's typescript-fetch generates, against a running service. */
import { deepStrictEqual as equal } from "node:assert";
import { createHash, randomUUID } from "node:crypto";
import * as client from "./client";

const { URL: basePath = "", KEY: accessToken = "", REQUEST: requestId = "" } = process.env;
const configuration = new client.Configuration({ basePath, accessToken });
const api = new client.RequestAttachmentsApi(configuration);
const switches = new client.SwitchesApi(configuration);
const content = new Uint8Array([0x25, 0x50, 0x44, 0x46, 0x2d, 0xff, 0]);
const sha256 = createHash("sha256").update(content).digest("hex");

/** The first of the typed errors of a call that must fail. */
const errorOf = async (call: Promise<unknown>) => {
  const error = await call.catch((error: unknown) => error);
  if (!(error instanceof client.ResponseError))
    throw new Error("The call did not return an error document.", { cause: error });
  return client.ErrorDocumentFromJSON(await error.response.json()).errors[0];
};

const byForm = async (dataName: string) => {
  const dataFile = new File([content], "loa.pdf", { type: "application/pdf" });
  const form = { requestId, dataFile, dataName, dataFileHint: client.FileHint.Loa, dataReferenceId: randomUUID() };
  const { data } = await api.createRequestAttachment(form);
  equal([data.fileHint, data.referenceId, data.filename], ["LOA", form.dataReferenceId, "loa.pdf"]);
  equal(data.insertedAt instanceof Date, true);
  return data.id;
};

const directly = async (name: string) => {
  const announced = { filename: "loa.pdf", contentType: "application/pdf", bytes: content.length, sha256 };
  const uploadCreate = { type: "upload", data: announced } as const;
  const { data: upload } = await api.createRequestAttachmentUpload({ requestId, uploadCreate });
  const { method, url, headers } = upload;
  equal((await fetch(url, { method, headers, body: content })).status, 200);
  const requestAttachmentComplete = { type: "request_attachment", data: { name } } as const;
  const completed = { requestId, uploadId: upload.id, requestAttachmentComplete };
  const { data } = await api.completeRequestAttachmentUpload(completed);
  equal([data.id, data.fileHint], [upload.id, "DEFAULT"]);
  return data.id;
};

const walk = async () => {
  const seen = [];
  for (let after: string | undefined; ; ) {
    const { data } = await api.listRequestAttachments({ requestId, first: 2, after, include: "file" });
    seen.push(...data.items);
    if (data.pageInfo.after === null) {
      equal(data.pageInfo.total, seen.length);
      return seen;
    }
    after = data.pageInfo.after;
  }
};

const ids = [await byForm("One"), await byForm("Two")];
console.log("form");
ids.push(await directly("Three"));
console.log("direct");
const listed = (await walk()).filter(({ data }) => ids.includes(data.id));
equal(
  listed.map(({ data, associations }) => [data.id, associations.file?.data.sha256]),
  ids.map((id) => [id, sha256]),
);
console.log("pages");
const [attachmentId = ""] = ids;
const requestAttachmentUpdate = { type: "request_attachment", data: { name: "Countersigned", notes: null } } as const;
const patched = await api.updateRequestAttachment({ requestId, attachmentId, requestAttachmentUpdate });
equal([patched.data.name, patched.data.notes, patched.data.fileHint], ["Countersigned", null, "LOA"]);
console.log("patch");
const settings = { name: `TypeScript ${randomUUID()}`, smsProtocol: "HTTP" } as const;
const { data: made } = await switches.createSwitch({ switchCreate: { type: "switch", data: settings } });
equal([made.smsProtocol, made.smsIdentity, made.smsOptions], ["HTTP", null, null]);
console.log("switch");
for (const id of ids) equal((await api.deleteRequestAttachment({ requestId, attachmentId: id })).data.id, id);
const missing = await errorOf(api.showRequestAttachment({ requestId, attachmentId }));
equal([missing?.code, missing?.params?.resource?.id], ["not_found", attachmentId]);
const switchUpdate = { type: "switch", data: { smsEnabled: true } } as const;
const invalid = await errorOf(switches.updateSwitch({ id: made.id, switchUpdate }));
equal([invalid?.subCode, invalid?.source?.pointer], ["constraint.required", "/data/sms_endpoints"]);
console.log("errors");
