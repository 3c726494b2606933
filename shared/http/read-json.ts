import { malformed, payloadTooLarge, unsupportedMediaType } from "../errors.ts";
import { maxJsonBytes } from "../limits.ts";
import type { ReadBody } from "./input.ts";
import { header } from "./request.ts";

/** Reads a JSON body. 415 for another media type, 413 for one that is too large, 422 for one that cannot be read. */
export const readJson: ReadBody = async (event) => {
  if (!/^application\/json\s*(;|$)/i.test(header(event, "Content-Type") ?? ""))
    throw unsupportedMediaType("application/json");
  const body = event.isBase64Encoded ? Buffer.from(event.body ?? "", "base64").toString() : (event.body ?? "");
  if (Buffer.byteLength(body) > maxJsonBytes) throw payloadTooLarge(maxJsonBytes);
  try {
    return { input: JSON.parse(body), faults: [] };
  } catch {
    throw malformed("is not valid JSON");
  }
};
