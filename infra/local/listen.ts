import { once } from "node:events";
import type { Server } from "node:http";

/** Listens on 127.0.0.1 only; port 0 is any free one. Returns the address. Rejects if the port is taken. */
export const listen = async (server: Server, port = 0) => {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const taken = typeof address === "object" && address ? address.port : port;
  return { port: taken, url: `http://127.0.0.1:${taken}` };
};
