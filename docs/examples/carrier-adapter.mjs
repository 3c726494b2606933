/**
 * An adapter function: it sends each call of a checkout to the carrier at CARRIER_URL, as it would be sent without an adapter.
 * Change it to speak your carrier's protocol. To try it:
 *
 *     npm start -- --carrier-function docs/examples/carrier-adapter.mjs
 */
import { createHash } from "node:crypto";

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

export const handler = async ({ method, path, headers, body: metadata, file }) => {
  const body = file && (await formOf(metadata, file));
  // A redirect is returned as it is, so that the letter and the token go to no other address.
  const response = await fetch(process.env.CARRIER_URL + path, { method, headers, body, redirect: "manual" });
  const retryAfter = response.headers.get("Retry-After");
  return {
    status: response.status,
    headers: retryAfter === null ? {} : { "Retry-After": retryAfter },
    body: await response.text(),
  };
};
