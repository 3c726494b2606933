/** Uses the types that openapi-typescript generates, with openapi-fetch, against a running service. */
import { deepStrictEqual as equal } from "node:assert";
import { createHash, randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./openapi";

type Attachment = components["schemas"]["RequestAttachmentDocument"];

const { URL: baseUrl = "", KEY = "", REQUEST: request_id = "" } = process.env;
const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${KEY}` } });
const attachments = "/api/v1/requests/{request_id}/attachments";
const attachment = "/api/v1/requests/{request_id}/attachments/{attachment_id}";
const content = new Uint8Array([0x25, 0x50, 0x44, 0x46, 0x2d, 0xff, 0]);

const sha256 = createHash("sha256").update(content).digest("hex");

const required = <T>(value: T | undefined, error?: unknown): T => {
  if (value === undefined) throw new Error(JSON.stringify(error));
  return value;
};

const asForm = (body: object): FormData => {
  const form = new FormData();
  for (const [name, part] of Object.entries(body)) form.append(name, part);
  return form;
};

const byForm = async (name: string): Promise<Attachment> => {
  const reference = randomUUID();
  const file = new File([content], "loa.pdf", { type: "application/pdf" });
  const { data, error } = await api.POST(attachments, {
    params: { path: { request_id } },
    body: { "data[file]": file.name, "data[name]": name, "data[file_hint]": "LOA", "data[reference_id]": reference },
    bodySerializer: (body) => asForm({ ...body, "data[file]": file }),
  });
  const created = required(data, error);
  equal([created.data.file_hint, created.data.reference_id], ["LOA", reference]);
  return created;
};

const directly = async (name: string): Promise<Attachment> => {
  const announced = { filename: "loa.pdf", content_type: "application/pdf", bytes: content.length, sha256 };
  const prepared = await api.POST("/api/v1/requests/{request_id}/uploads", {
    params: { path: { request_id } },
    body: { type: "upload", data: announced },
  });
  const { id, method, url, headers } = required(prepared.data, prepared.error).data;
  equal((await fetch(url, { method, headers, body: content })).status, 200);
  const complete = () =>
    api.POST("/api/v1/requests/{request_id}/uploads/{upload_id}/complete", {
      params: { path: { request_id, upload_id: id } },
      body: { type: "request_attachment", data: { name } },
    });
  const { data, error } = await complete();
  const created = required(data, error);
  equal([created.data.id, created.data.file_hint], [id, "DEFAULT"]);
  const again = await complete();
  equal(
    required(again.error).errors.map(({ sub_code, source }) => [sub_code, source?.pointer]),
    [["constraint.reference", "/upload_id"]],
  );
  return created;
};

const walk = async (): Promise<Attachment[]> => {
  const seen: Attachment[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const query = { first: 2, include: "file", ...(after && { after }) };
    const { data, error } = await api.GET(attachments, { params: { path: { request_id }, query } });
    const { items, page_info } = required(data, error).data;
    seen.push(...items);
    after = page_info.after;
    if (after === null) equal(page_info.total, seen.length);
  }
  return seen;
};

const created = [await byForm("One"), await byForm("Two")];
console.log("form");
created.push(await directly("Three"));
console.log("direct");
const ids = created.map(({ data }) => data.id);
equal(
  created.map(({ data, associations }) => [data.name, data.filename, associations.request.data.id]),
  ["One", "Two", "Three"].map((name) => [name, "loa.pdf", request_id]),
);
const listed = (await walk()).filter(({ data }) => ids.includes(data.id));
equal(
  listed.map(({ data, associations }) => [data.id, associations.file?.data.sha256]),
  ids.map((id) => [id, sha256]),
);
console.log("pages");

const params = { path: { request_id, attachment_id: required(ids[0]) } };
const patched = await api.PATCH(attachment, {
  params,
  body: { type: "request_attachment", data: { name: "Countersigned", notes: null } },
});
equal(required(patched.data, patched.error).data.name, "Countersigned");
console.log("patch");

const shown = await api.GET(attachment, { params: { ...params, query: { include: "file,forwarding" } } });
const { file, forwarding } = required(shown.data, shown.error).associations;
equal([file?.data.bytes, forwarding?.data.state], [content.length, "pending"]);

for (const id of ids) {
  const { data, error } = await api.DELETE(attachment, { params: { path: { request_id, attachment_id: id } } });
  equal(required(data, error).data.id, id);
}
const missing = await api.GET(attachment, { params });
equal(
  required(missing.error).errors.map(({ code, params }) => [code, params?.resource?.id]),
  [["not_found", ids[0]]],
);

const settings = { name: `TypeScript ${randomUUID()}`, sms_auth_method: "BASIC", sms_protocol: "HTTP" } as const;
const made = await api.POST("/api/v1/switches", { body: { type: "switch", data: settings } });
const { id, sms_auth_method, sms_options } = required(made.data, made.error).data;
equal([sms_auth_method, sms_options], ["BASIC", null]);
const invalid = await api.PATCH("/api/v1/switches/{id}", {
  params: { path: { id } },
  body: { type: "switch", data: { sms_enabled: true, sms_endpoints: ["https://a.example/"] } },
});
equal(
  required(invalid.error).errors.map(({ sub_code, source }) => [sub_code, source?.pointer]),
  [
    ["constraint.required", "/data/sms_identity"],
    ["constraint.required", "/data/sms_secret"],
  ],
);
const whose = await api.GET("/api/v1/switches/{id}", { params: { path: { id }, query: { include: "account" } } });
equal(required(whose.data, whose.error).associations?.account?.type, "account");
equal((await api.DELETE("/api/v1/switches/{id}", { params: { path: { id } } })).data, made.data);
console.log("errors");
