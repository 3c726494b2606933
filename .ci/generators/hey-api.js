/** Uses the client that @hey-api/openapi-ts generates, against a running service. esbuild bundles it with the client. */
import { deepStrictEqual } from "node:assert";
import { createHash, randomUUID } from "node:crypto";
import { client } from "./client/client.gen.ts";
import * as api from "./client/index.ts";

const { URL: baseUrl, KEY, REQUEST: request_id, ORDER } = process.env;
client.setConfig({ baseUrl, auth: KEY, throwOnError: true });
const content = Buffer.from("%PDF-1.7 \xff\0", "latin1");
const sha256 = createHash("sha256").update(content).digest("hex");

const byForm = async (name) => {
  const reference_id = randomUUID();
  const file = new File([content], "LOA (1).pdf", { type: "application/pdf" });
  const body = { "data[file]": file, "data[name]": name, "data[file_hint]": "LOA", "data[reference_id]": reference_id };
  const { data: created } = await api.createRequestAttachment({ path: { request_id }, body });
  const { file_hint, filename } = created.data;
  deepStrictEqual([file_hint, filename, created.data.reference_id], ["LOA", "LOA (1).pdf", reference_id]);
  return created.data.id;
};

const directly = async (name) => {
  const announced = { filename: "loa.pdf", bytes: content.length, sha256 };
  const prepared = await api.createRequestAttachmentUpload({
    path: { request_id },
    body: { type: "upload", data: announced },
  });
  const { id: upload_id, url, method, headers } = prepared.data.data;
  deepStrictEqual((await fetch(url, { method, headers, body: content })).status, 200);
  const body = { type: "request_attachment", data: { name } };
  const { data: created } = await api.completeRequestAttachmentUpload({ path: { request_id, upload_id }, body });
  deepStrictEqual(created.data.id, upload_id);
  return upload_id;
};

const walk = async () => {
  const seen = [];
  for (let after; after !== null; ) {
    const query = { first: 2, include: "file,order", ...(after && { after }) };
    const { items, page_info } = (await api.listRequestAttachments({ path: { request_id }, query })).data.data;
    seen.push(...items);
    after = page_info.after;
  }
  return seen;
};

const errorsOf = async (call) =>
  call.then(
    () => [],
    ({ errors }) => errors,
  );

const ids = [await byForm("One"), await byForm("Two")];
console.log("form");
ids.push(await directly("Three"));
console.log("direct");
const found = (await walk()).filter(({ data }) => ids.includes(data.id));
deepStrictEqual(
  found.map(({ associations: { file, order } }) => [file.data.sha256, order.data.id]),
  ids.map(() => [sha256, ORDER]),
);
console.log("pages");
const [attachment_id] = ids;
const changes = { type: "request_attachment", data: { name: "Countersigned", notes: null } };
const path = { request_id, attachment_id };
const { data: patched } = await api.updateRequestAttachment({ path, body: changes });
deepStrictEqual([patched.data.name, patched.data.notes], ["Countersigned", null]);
console.log("patch");
const settings = { name: `hey-api ${randomUUID()}`, sms_protocol: "HTTP" };
const { id, sms_identity } = (await api.createSwitch({ body: { type: "switch", data: settings } })).data.data;
deepStrictEqual(sms_identity, null);
console.log("switch");
for (const each of ids) await api.deleteRequestAttachment({ path: { request_id, attachment_id: each } });
const [missing] = await errorsOf(api.showRequestAttachment({ path }));
deepStrictEqual([missing.code, missing.params.resource.id], ["not_found", attachment_id]);
const enabled = { type: "switch", data: { sms_enabled: true } };
const invalid = await errorsOf(api.updateSwitch({ path: { id }, body: enabled }));
deepStrictEqual(
  invalid.map(({ source }) => source.pointer),
  ["/data/sms_endpoints"],
);
console.log("errors");
