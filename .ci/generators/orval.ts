/** Uses the client that orval generates, with axios, against a running service. */
import { deepStrictEqual as equal } from "node:assert";
import { createHash, randomUUID } from "node:crypto";
import axios, { isAxiosError } from "axios";
import * as api from "./api";

const { URL: baseURL = "", KEY, REQUEST: request = "" } = process.env;
const options = { baseURL, headers: { Authorization: `Bearer ${KEY}` } };
const content = new Uint8Array([0x25, 0x50, 0x44, 0x46, 0x2d, 0xff, 0]);
const sha256 = createHash("sha256").update(content).digest("hex");

/** The first of the typed errors of a call that must fail. */
const errorOf = async (call: Promise<unknown>) => {
  const error = await call.catch((error: unknown) => error);
  if (!isAxiosError<api.ErrorDocument>(error)) throw new Error("The call did not fail.", { cause: error });
  return error.response?.data.errors[0];
};

const byForm = async (name: string) => {
  const file = new File([content], "loa.pdf", { type: "application/pdf" });
  const reference = randomUUID();
  const parts = { "data[file]": file, "data[name]": name, "data[reference_id]": reference };
  const form = { ...parts, "data[file_hint]": api.FileHint.LOA };
  const { data } = (await api.createRequestAttachment(request, form, options)).data;
  equal([data.file_hint, data.reference_id, data.filename], ["LOA", reference, "loa.pdf"]);
  return data.id;
};

const directly = async (name: string) => {
  const announced = { filename: "loa.pdf", content_type: "application/pdf", bytes: content.length, sha256 };
  const prepare = { type: "upload", data: announced } as const;
  const { data: upload } = (await api.createRequestAttachmentUpload(request, prepare, options)).data;
  const { method, url, headers } = upload;
  equal((await axios.request({ method, url, headers, data: content })).status, 200);
  const body = { type: "request_attachment", data: { name } } as const;
  const complete = () => api.completeRequestAttachmentUpload(request, upload.id, body, options);
  const { data } = (await complete()).data;
  equal([data.id, data.file_hint], [upload.id, "DEFAULT"]);
  const again = await errorOf(complete());
  equal([again?.sub_code, again?.source?.pointer], ["constraint.reference", "/upload_id"]);
  return data.id;
};

const walk = async () => {
  const seen = [];
  for (let after: string | undefined; ; ) {
    const query = { first: 2, after, include: "file" };
    const { items, page_info } = (await api.listRequestAttachments(request, query, options)).data.data;
    seen.push(...items);
    if (page_info.after === null) {
      equal(page_info.total, seen.length);
      return seen;
    }
    after = page_info.after;
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
const [first = ""] = ids;
const update = { type: "request_attachment", data: { name: "Countersigned", notes: null } } as const;
const { data: patched } = (await api.updateRequestAttachment(request, first, update, options)).data;
equal([patched.name, patched.notes, patched.file_hint], ["Countersigned", null, "LOA"]);
console.log("patch");
for (const id of ids) equal((await api.deleteRequestAttachment(request, id, options)).data.data.id, id);
const missing = await errorOf(api.showRequestAttachment(request, first, undefined, options));
equal([missing?.code, missing?.params?.resource?.id], ["not_found", first]);
console.log("errors");
