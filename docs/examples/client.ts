/**
 * Uploads a letter of authorization and a large file to a request, waits until the carrier has both, and prints their events.
 * `npm run openapi:types` writes the types. `URL`, `KEY` and `REQUEST` are the service, an API key and the request's id; `EVENTS` is
 * the URL of the events:
 *
 *     npx node docs/examples/client.ts loa.pdf scan.bin
 */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, openAsBlob } from "node:fs";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "../../openapi.d.ts";

type Schemas = components["schemas"];

const { URL: baseUrl = "", KEY = "", REQUEST: request_id = "", EVENTS } = process.env;
const [loa = "", scan = ""] = process.argv.slice(2);
if (!baseUrl || !KEY || !request_id || !scan) {
  console.error("Usage: URL=… KEY=… REQUEST=… [EVENTS=…] npx node docs/examples/client.ts <letter> <large file>");
  process.exit(2);
}
const patchbay = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${KEY}` } });

/** Returns the document of a response, or throws its errors. */
const succeeded = <T>({ data, error }: { data?: T; error?: Schemas["ErrorDocument"] }): T => {
  if (data !== undefined) return data;
  const errors = error?.errors ?? [];
  throw new Error(errors.map(({ source, detail }) => `${source?.pointer ?? "request"}: ${detail}`).join("; "));
};

/** Uses a new Idempotency-Key, so that a request can be sent again if its response was lost: nothing is created twice. */
const paramsOnce = () => ({ path: { request_id }, header: { "Idempotency-Key": randomUUID() } });

const asForm = (parts: object): FormData => {
  const form = new FormData();
  for (const [name, part] of Object.entries(parts)) form.append(name, part);
  return form;
};

/** One call, for a file of up to 4.6 MB. */
const uploadByForm = async (path: string): Promise<string> => {
  const file = new File([await openAsBlob(path)], basename(path), { type: "application/pdf" });
  const created = await patchbay.POST("/api/v1/requests/{request_id}/attachments", {
    params: paramsOnce(),
    body: { "data[file]": path, "data[name]": "Letter of authorization", "data[file_hint]": "LOA" },
    // openapi-typescript has no type for files.
    bodySerializer: (body) => asForm({ ...body, "data[file]": file }),
  });
  return succeeded(created).data.id;
};

const sendToStorage = async ({ method, url, headers }: Schemas["UploadData"], body: Blob): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url, { method, headers, body }).catch((error: Error) => error);
    // 412: the file is already stored. An earlier attempt arrived, but its response was lost. 409: it is still on its way.
    if (response instanceof Response && (response.ok || response.status === 412)) return;
    const reason = response instanceof Response ? `Storage returned ${response.status}` : response.message;
    if (attempt === 5) throw new Error(reason);
    await sleep(1_000 * attempt);
  }
};

/** Three calls, for a file of up to 100 MB: prepare the upload, send the file to storage, complete the upload. */
const uploadDirectly = async (path: string): Promise<string> => {
  const [file, hash] = [await openAsBlob(path), createHash("sha256")];
  await pipeline(createReadStream(path), hash);
  const announced = { bytes: file.size, sha256: hash.digest("hex"), content_type: "application/octet-stream" };
  // The characters that a name cannot have.
  const filename = basename(path).replaceAll(/[\\\p{Cc}\p{Bidi_Control}]/gu, "_");
  const prepared = await patchbay.POST("/api/v1/requests/{request_id}/uploads", {
    params: paramsOnce(),
    body: { type: "upload", data: { filename, ...announced } },
  });
  const upload = succeeded(prepared).data;
  await sendToStorage(upload, file);
  const { path: parent, header } = paramsOnce();
  const created = await patchbay.POST("/api/v1/requests/{request_id}/uploads/{upload_id}/complete", {
    params: { path: { ...parent, upload_id: upload.id }, header },
    body: { type: "request_attachment", data: { name: "Scan" } },
  });
  return succeeded(created).data.id;
};

/** An attachment reaches the carrier when its order is checked out. */
const waitForCarrier = async (attachment_id: string): Promise<void> => {
  for (let seconds = 0; seconds < 600; seconds++) {
    const shown = await patchbay.GET("/api/v1/requests/{request_id}/attachments/{attachment_id}", {
      params: { path: { request_id, attachment_id }, query: { include: "forwarding" } },
    });
    const state = succeeded(shown).associations.forwarding?.data.state;
    if (state === "forwarded") return console.log(`${attachment_id} is with the carrier`);
    if (state === "refused") throw new Error(`The carrier has refused ${attachment_id}.`);
    await sleep(1_000);
  }
  throw new Error("The carrier does not have the files after ten minutes.");
};

/** An event, as EventBridge delivers it. An event can arrive twice, in any order. */
type Delivery = { time: string; "detail-type": string; detail: { id: string; resource: { id: string } } };

/** Prints the events of these attachments until each has been forwarded. */
const follow = async (events: string, attachments: string[]): Promise<void> => {
  const pending = new Set(attachments);
  for (let after = ""; pending.size > 0; await sleep(1_000)) {
    const response = await fetch(`${events}?after=${after}`);
    const page: { events: Delivery[] } = JSON.parse(await response.text());
    for (const { time, "detail-type": type, detail } of page.events) {
      after = detail.id;
      if (!attachments.includes(detail.resource.id)) continue;
      console.log(time, type, detail.resource.id);
      if (type === "request_attachment.forwarded") pending.delete(detail.resource.id);
    }
  }
};

const attachments = [await uploadByForm(loa), await uploadDirectly(scan)];
console.log("Uploaded. Waiting until the carrier has them ...");
for (const id of attachments) await waitForCarrier(id);
if (EVENTS) await follow(EVENTS, attachments);
