import { once } from "node:events";
import type { Server } from "node:http";

/** Listens on 127.0.0.1 only; port 0 is any free port. Returns the address. Rejects if the port is in use. */
export const listen = async (server: Server, port = 0) => {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const actualPort = typeof address === "object" && address ? address.port : port;
  return { port: actualPort, url: `http://127.0.0.1:${actualPort}` };
};
