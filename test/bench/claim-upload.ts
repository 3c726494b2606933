import {
  completeUploadRoutes,
  createUploadRoutes,
  listAttachmentsRoutes,
  showAttachmentRoutes,
} from "../../shared/attachments/routes.ts";
import { invoke } from "../support/requests/event.ts";
import { endPeak } from "./peak-memory.ts";

/**
 * `node test/bench/claim-upload.ts <key> <request> <upload> <file>` calls the functions of a direct upload whose file has arrived,
 * in a separate process. It prepares another upload of the file, which is declared as JSON, completes the upload, and shows and
 * lists the attachment. Prints the statuses and the memory as JSON.
 */
const [key = "", request_id = "", upload_id = "", file = ""] = process.argv.slice(2);
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
const ids = { request_id };
const query = { include: "file,forwarding" };
const declared = JSON.stringify({ type: "upload", data: JSON.parse(file) });
const named = JSON.stringify({ type: "request_attachment", data: { name: "Scan" } });
const responses = [
  await invoke(createUploadRoutes.request, { headers, ids, body: declared }),
  await invoke(completeUploadRoutes.request, { headers, ids: { ...ids, upload_id }, body: named }),
  await invoke(showAttachmentRoutes.request, { headers, ids: { ...ids, attachment_id: upload_id }, query }),
  await invoke(listAttachmentsRoutes.request, { headers, ids, query }),
];
console.log(JSON.stringify({ statuses: responses.map(({ statusCode }) => statusCode), peak: endPeak() }));
