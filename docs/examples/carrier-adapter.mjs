/**
 * An adapter function: it sends each call of a checkout to the carrier at CARRIER_URL, as it would be sent without an adapter.
 * Change it to speak your carrier's protocol. To try it:
 *
 *     ./patchbay start --carrier-function docs/examples/carrier-adapter.mjs
 */
import { createHash } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";

const formOf = async (metadata, { url, sha256, content_type: type, filename }) => {
  const stored = await fetch(url);
  if (!stored.ok) throw new Error(`The file cannot be read: ${stored.status}`);
  const content = await stored.bytes();
  if (createHash("sha256").update(content).digest("hex") !== sha256)
    throw new Error("It is not the file that was uploaded.");
  const form = new FormData();
  form.append("metadata", JSON.stringify(metadata));
  form.append("file", new Blob([content], { type }), filename);
  return form;
};

/** Sends a request. If the carrier responds early, `fetch` stops sending the body, and reports success. */
const send = (url, options, body) =>
  new Promise((resolve, reject) => {
    const { request } = url.startsWith("https:") ? https : http;
    const outgoing = request(url, options);
    outgoing.on("error", reject);
    outgoing.on("close", () => outgoing.writableFinished || reject(new Error("The connection was closed too early.")));
    outgoing.on("response", (incoming) => {
      const { statusCode: status, headers } = incoming;
      const onText = (body) => {
        const done = () => resolve({ status, retryAfter: headers["retry-after"], body });
        if (status >= 300 || outgoing.writableFinished) done();
        else outgoing.once("finish", done);
      };
      text(incoming).then(onText, reject);
    });
    outgoing.end(body);
  });

/** The body of a PUT is a form, that of a POST the manifest as JSON. The other calls have none. */
const bodyOf = async (body, file) => {
  if (file) return new Response(await formOf(body, file));
  return body && new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } });
};

export const handler = async ({ method, path, headers, body: described, file }) => {
  const content = await bodyOf(described, file);
  const type = content && { "Content-Type": content.headers.get("Content-Type") };
  const options = { method, headers: { ...headers, ...type } };
  // A redirect is returned as it is, so that the letter and the token go to no other address.
  const response = await send(process.env.CARRIER_URL + path, options, content ? await content.bytes() : undefined);
  const { status, retryAfter, body } = response;
  return { status, headers: retryAfter === undefined ? {} : { "Retry-After": retryAfter }, body };
};
