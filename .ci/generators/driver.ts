/** Uses the client that @hey-api/openapi-ts generates, against a running service. */
import { deepStrictEqual as equal } from "node:assert";
import { randomUUID } from "node:crypto";
import {
  createRequestAttachment,
  createSwitch,
  deleteRequestAttachment,
  deleteSwitch,
  type ErrorDocument,
  listRequestAttachments,
  type RequestAttachmentDocument,
  showRequestAttachment,
  updateRequestAttachment,
  updateSwitch,
} from "./client";
import { client } from "./client/client.gen";

const { URL: baseUrl = "", KEY = "", REQUEST: request_id = "" } = process.env;
client.setConfig({ baseUrl, auth: () => KEY });

const required = <T>(value: T | undefined, error?: unknown): T => {
  if (value === undefined) throw new Error(JSON.stringify(error));
  return value;
};

const upload = async (name: string): Promise<RequestAttachmentDocument> => {
  const reference = randomUUID();
  const file = new File([new Uint8Array([0x25, 0x50, 0x44, 0x46, 0xff, 0])], "loa.pdf", { type: "application/pdf" });
  const { data, error } = await createRequestAttachment({
    path: { request_id },
    body: { "data[file]": file, "data[name]": name, "data[file_hint]": "LOA", "data[reference_id]": reference },
  });
  const created = required(data, error);
  const { name: actual, file_hint, reference_id, filename } = created.data;
  equal(
    { actual, file_hint, reference_id, filename },
    {
      actual: name,
      file_hint: "LOA",
      reference_id: reference,
      filename: "loa.pdf",
    },
  );
  equal(created.associations.request.data.id, request_id);
  return created;
};

const walk = async (): Promise<string[]> => {
  const seen: string[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const query = after === undefined ? { first: 2 } : { first: 2, after };
    const { data, error } = await listRequestAttachments({ path: { request_id }, query });
    const { items, page_info } = required(data, error).data;
    seen.push(...items.map((item) => item.data.id));
    after = page_info.after;
    if (after === null) equal(page_info.total, seen.length);
  }
  return seen;
};

const ids: string[] = [];
for (const name of ["One", "Two", "Three"]) ids.push((await upload(name)).data.id);
equal(
  (await walk()).filter((id) => ids.includes(id)),
  ids,
);

const attachment_id = required(ids[0]);
const patched = await updateRequestAttachment({
  path: { request_id, attachment_id },
  body: { type: "request_attachment", data: { name: "Countersigned", notes: null } },
});
equal(required(patched.data, patched.error).data.name, "Countersigned");

for (const id of ids) {
  const { data, error } = await deleteRequestAttachment({ path: { request_id, attachment_id: id } });
  equal(required(data, error).data.id, id);
}

const missing = await showRequestAttachment({ path: { request_id, attachment_id } });
const { errors }: ErrorDocument = required(missing.error);
equal([errors[0]?.code, errors[0]?.params?.resource?.id], ["not_found", attachment_id]);

const settings = { name: `TypeScript ${randomUUID()}`, sms_auth_method: "BASIC", sms_protocol: "HTTP" } as const;
const created = await createSwitch({ body: { type: "switch", data: settings } });
const { id, sms_options } = required(created.data, created.error).data;
equal(sms_options, null);
const invalid = await updateSwitch({
  path: { id },
  body: { type: "switch", data: { sms_enabled: true, sms_endpoints: ["https://a.example/"] } },
});
equal(
  required(invalid.error).errors.map(({ sub_code, source }) => [sub_code, source?.pointer]),
  [
    ["constraint.required", "/data/sms_identity"],
    ["constraint.required", "/data/sms_secret"],
  ],
);
equal(required((await deleteSwitch({ path: { id } })).data), created.data);
