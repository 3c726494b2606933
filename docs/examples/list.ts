import createClient from "openapi-fetch";
import type { paths } from "../../openapi.d.ts";

const { URL: baseUrl, KEY, REQUEST: request_id } = process.env;
if (!baseUrl || !KEY || !request_id) {
  console.error("Usage: URL=… KEY=… REQUEST=… npx node docs/examples/list.ts");
  process.exit(2);
}
const patchbay = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${KEY}` } });
const params = { path: { request_id } };
const { data: list, error } = await patchbay.GET("/api/v1/requests/{request_id}/attachments", { params });
if (error) throw new Error(error.errors.map(({ detail }) => detail).join("; "));
for (const { data } of list.data.items) console.log(data.id, data.name, data.file_hint);
