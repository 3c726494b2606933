// @ts-check
import createClient from "openapi-fetch";

const { URL: baseUrl = "", KEY = "", REQUEST: request_id = "" } = process.env;
/** @type {import("openapi-fetch").Client<import("../../openapi.d.ts").paths>} */
const patchbay = createClient({ baseUrl, headers: { Authorization: `Bearer ${KEY}` } });
const params = { path: { request_id } };
const { data: list, error } = await patchbay.GET("/api/v1/requests/{request_id}/attachments", { params });
if (error) throw new Error(error.errors.map(({ detail }) => detail).join("; "));
for (const { data } of list.data.items) console.log(data.id, data.name, data.file_hint);
