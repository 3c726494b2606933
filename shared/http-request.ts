import type { ClientRequest, IncomingMessage } from "node:http";

export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The beginning of the body. */
  readonly text: string;
};

type HttpRequest = {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A text, or a function that creates the chunks while they are sent. Its signal aborts when the request ends. */
  readonly body?: string | ((signal: AbortSignal) => AsyncIterable<Uint8Array>) | undefined;
  /** When the request ends, in milliseconds. Nothing is sent after that. */
  readonly endsAt: number;
  /** How many characters of the body to read at most. */
  readonly maxCharacters: (status: number) => number;
};

/**
 * Takes bare line feeds, both lengths, and more headers than Node does by default, because some gateways send them. Node calls that
 * insecure, because a response could then hide another one. Here, a connection has one call, so nobody would read the other one.
 */
const lenient = { insecureHTTPParser: true, maxHeaderSize: 262_144 };

/**
 * Sends a request, and returns the response. A 2xx that comes before the whole body was sent counts only once the rest was sent.
 * Any other early response ends the call. Follows no redirect. Rejects with the error of the body or of the connection. Does not
 * use `fetch`, which fails on an unsolicited `100 Continue` and refuses ports such as 5060.
 */
export const sendRequest = (url: URL, { method, headers, body, endsAt, maxCharacters }: HttpRequest) =>
  new Promise<HttpResponse>((resolve, reject) => {
    // The first request loads it, because an import would take a third of the cold start of a step that sends none.
    const isSecure = url.protocol === "https:";
    const { request } = process.getBuiltinModule(isSecure ? "node:https" : "node:http");
    const signal = AbortSignal.timeout(Math.max(0, endsAt - Date.now()));
    const outgoing = request(url, {
      method,
      headers: { ...headers, Connection: "keep-alive" },
      signal,
      agent: false,
      ...lenient,
    });
    // For the same reason, what comes after a complete response does not undo it.
    let response: IncomingMessage | undefined;
    outgoing.on("error", (error) => response?.complete || reject(error));
    const { promise: sent, resolve: startWith } = Promise.withResolvers<void>();
    sent.catch((error: Error) => outgoing.destroy(error));
    outgoing.on("socket", (socket) => {
      const send = () => startWith(sendInTime(outgoing, endsAt, typeof body === "function" ? body(signal) : body));
      socket.once(isSecure ? "secureConnect" : "connect", send);
    });
    // For an unsolicited 101. Without this listener, Node would close the connection without a response or an error.
    outgoing.on("upgrade", ({ statusCode: status = 0 }, socket) => {
      socket.destroy();
      resolve({ status, headers: {}, text: "" });
    });
    outgoing.on("response", (incoming) => {
      response = incoming;
      const { statusCode: status = 0, headersDistinct } = incoming;
      const names = Object.keys(headersDistinct);
      const received = Object.fromEntries(names.map((name) => [name, headersDistinct[name]?.join(", ")]));
      (status < 300 ? sent : Promise.resolve())
        .then(() => beginningOf(incoming, maxCharacters(status)))
        .then((text) => resolve({ status, headers: received, text }))
        .catch(reject)
        .finally(() => outgoing.writableFinished || outgoing.destroy());
    });
  });

/**
 * Sends a request over a connection that exists. Rejects if the connection is closed before everything was sent. A frozen process may wake
 * long after the call's end, and queued bytes would be sent before the timeout fires. So each chunk is created only when the connection
 * has taken the last one.
 */
const sendInTime = async (
  outgoing: ClientRequest,
  endsAt: number,
  body: string | AsyncIterable<Uint8Array> | undefined,
): Promise<void> => {
  const closed = new Promise<never>((_, reject) => outgoing.once("close", () => reject(errorOf("ECONNRESET"))));
  closed.catch(() => {});
  const inTime = (send: (done: () => void) => void) => {
    if (Date.now() >= endsAt) throw errorOf("ETIMEDOUT");
    return Promise.race([closed, new Promise<void>(send)]);
  };
  if (typeof body !== "object") return inTime((done) => outgoing.end(body, done));
  for await (const chunk of body) await inTime((done) => outgoing.write(chunk, done));
  await inTime((done) => outgoing.end(done));
};

const errorOf = (code: string) => Object.assign(new Error("It was not sent."), { code });

/** Reads only as much as is needed, so that a small compressed body cannot take much memory. */
const beginningOf = async (incoming: IncomingMessage, length: number): Promise<string> => {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of await decompressed(incoming)) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > length) break;
  }
  return text.slice(0, length);
};

/** Some servers compress a body although the request does not accept that. A truncated body ends where it was cut off. */
const decompressed = async (incoming: IncomingMessage): Promise<AsyncIterable<Uint8Array>> => {
  const encoding = incoming.headersDistinct["content-encoding"]?.join().trim().toLowerCase() ?? "";
  if (!["gzip", "x-gzip", "deflate", "br"].includes(encoding)) return incoming;
  const { constants, createBrotliDecompress, createInflateRaw, createUnzip } = process.getBuiltinModule("node:zlib");
  const { pipeline } = process.getBuiltinModule("node:stream");
  const chunks: AsyncIterator<Uint8Array, undefined> = incoming.iterator();
  const first = await chunks.next();
  const whole = async function* () {
    for (let next = first; !next.done; next = await chunks.next()) yield next.value;
  };
  // Some servers leave out the header of zlib, whose first byte ends with an 8.
  const isRaw = encoding === "deflate" && ((first.value?.[0] ?? 8) & 0x0f) !== 8;
  const decompress =
    encoding === "br"
      ? createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })
      : (isRaw ? createInflateRaw : createUnzip)({ finishFlush: constants.Z_SYNC_FLUSH });
  return pipeline(whole, decompress, () => {});
};
