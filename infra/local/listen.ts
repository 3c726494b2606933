import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";

/**
 * Ports above 1023 that browsers and `fetch` refuse.
 * Source: https://fetch.spec.whatwg.org/#port-blocking
 */
export const blockedPorts: readonly number[] = [
  6667, 6665, 6666, 6668, 6669, 6697, 6566, 5060, 5061, 4045, 3659, 2049, 1719, 1720, 1723, 10_080, 6000, 4190, 6679,
];

export const isFree = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createTcpServer().once("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });

/**
 * Listens on 127.0.0.1, or on `host`. Port 0 is any free port. Rejects if the port is in use. `close` allows open requests
 * `graceMs`.
 */
export const listen = async (server: Server, port = 0, graceMs = 0, host = "127.0.0.1") => {
  // Node hands over sockets to the listeners of `connect` and `upgrade`, where an unhandled error would end the process.
  server.on("connection", (socket) => socket.on("error", () => socket.destroy()));
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  const actualPort = typeof address === "object" && address ? address.port : port;
  const close = async () => {
    const closed = once(server, "close");
    server.close();
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(timer);
  };
  return { port: actualPort, url: `http://127.0.0.1:${actualPort}`, close };
};

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/** Containers call this machine so, a name that no site can have. */
const fromContainer = /^host\.docker\.internal(:\d{1,5})?$/i;

/** Whether a request names this machine as only its own programs do. A container does not, and it can be another user's. */
export const namesLoopback = ({ headers }: IncomingMessage): boolean => loopback.test(headers.host ?? "");

/**
 * Whether a request comes from this machine. Refuses pages of other sites, which browsers mark, unless `origins` has them. Also
 * refuses other host names, against DNS rebinding.
 */
export const isLocalRequest = ({ headers }: IncomingMessage, origins: readonly string[] = []): boolean => {
  const { host = "", origin, "sec-fetch-site": site = "none" } = headers;
  if (!loopback.test(host) && !fromContainer.test(host)) return false;
  if (origin !== undefined && origins.includes(origin)) return true;
  const sameOrigin = origin === undefined || origin === `http://${host}`;
  return sameOrigin && (site === "none" || site === "same-origin");
};

/** A response of a local server. Its body is sent as JSON. */
export type Reply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

export const sendReply = (outgoing: ServerResponse, { status, headers, body }: Reply) =>
  outgoing.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

/** In the format of AWS JSON, so that an SDK reports it, too. */
const refusal = {
  __type: "AccessDeniedException",
  message: "This address serves only programs on this machine. Web pages and other host names are refused.",
};

/** Refuses web pages, which could otherwise read and change everything. An error returns 400 in the format of AWS JSON. */
export const serveLocally = (handle: RequestListener, port?: number, host?: string) =>
  listen(
    createServer(async (incoming, outgoing) => {
      try {
        if (isLocalRequest(incoming)) await handle(incoming, outgoing);
        else sendReply(outgoing, { status: 403, body: refusal });
      } catch (error) {
        const body = { __type: "ValidationException", message: String(error) };
        if (outgoing.headersSent) outgoing.destroy();
        else sendReply(outgoing, { status: 400, headers: { "content-type": "application/x-amz-json-1.1" }, body });
      }
    }),
    port,
    0,
    host,
  );
