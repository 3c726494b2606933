/** Imports openapi.json as Postman does, fills in the key, the ids and the file, and sends every request of the collection. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import newman from "newman";
import converter from "openapi-to-postmanv2";

const { URL: baseUrl, KEY, ORDER, REQUEST, ACCOUNT, DOCUMENT } = process.env;
const file = "loa.pdf";
const content = readFileSync(file);

const create = async (path, body, headers = { "Content-Type": "application/json" }) => {
  const init = { method: "POST", headers: { Authorization: `Bearer ${KEY}`, ...headers }, body };
  const response = await fetch(`${baseUrl}/api/v1/${path}`, init);
  if (response.status !== 201) throw new Error(await response.text());
  return (await response.json()).data;
};

/** The ids of an attachment and of an upload whose file has been sent. */
const idsBelow = async (parent) => {
  const form = new FormData();
  form.append("data[name]", "Letter");
  form.append("data[file]", new File([content], file));
  const { id: attachment_id } = await create(`${parent}/attachments`, form, {});
  const sha256 = createHash("sha256").update(content).digest("hex");
  const data = { filename: file, bytes: content.length, sha256 };
  const upload = await create(`${parent}/uploads`, JSON.stringify({ type: "upload", data }));
  await fetch(upload.url, { method: upload.method, headers: upload.headers, body: content });
  return { attachment_id, upload_id: upload.id };
};

const ids = {
  requests: { request_id: REQUEST, ...(await idsBelow(`requests/${REQUEST}`)) },
  orders: { order_id: ORDER, ...(await idsBelow(`orders/${ORDER}`)) },
  switches: { id: (await create("switches", JSON.stringify({ type: "switch", data: { name: "Postman" } }))).id },
  accounts: { account_id: ACCOUNT },
};

// By default, the import sends every optional parameter, even `first` with `last`, which cannot be combined.
const options = { parametersResolution: "Example", enableOptionalParameters: false };
const input = { type: "string", data: readFileSync(DOCUMENT, "utf8") };
const converted = await new Promise((resolve, reject) => {
  converter.convertV2(input, options, (error, result) => (error ? reject(error) : resolve(result)));
});
const collection = converted.output[0].data;

const requestsIn = ({ item, request }) => (item ? item.flatMap(requestsIn) : [request]);
for (const { url, body } of requestsIn(collection)) {
  for (const variable of url.variable ?? []) variable.value = ids[url.path[2]][variable.key];
  for (const part of body?.formdata ?? []) if (part.type === "file") part.src = file;
}
const envVar = [
  { key: "baseUrl", value: baseUrl },
  { key: "bearerToken", value: KEY },
];
const { executions } = await new Promise((resolve, reject) => {
  newman.run({ collection, envVar }, (error, { run }) => (error ? reject(error) : resolve(run)));
});
for (const { request, response } of executions) {
  const status = response?.code ?? 0;
  if (status >= 300 || status === 0) process.exitCode = 1;
  console.log(status, request.method, request.url.getPath(), status < 300 ? "" : String(response?.stream));
}
console.log(`${executions.length} requests`);
