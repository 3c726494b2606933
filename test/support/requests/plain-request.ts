import { once } from "node:events";
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { text } from "node:stream/consumers";

/** Sends a request with a path or headers that fetch would change or refuse. */
export const sendPlain = async (url: string, options: RequestOptions = {}, body = "") => {
  const sent = request(url, { agent: false, ...options }).end(body);
  const [response]: IncomingMessage[] = await once(sent, "response");
  if (!response) throw new Error("no response");
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
};
