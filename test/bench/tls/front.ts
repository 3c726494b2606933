import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import { listen } from "../../../infra/local/listen.ts";

/** A certificate for 127.0.0.1, created with `openssl req -x509`. Its key is public and protects nothing. */
export const certificate = join(import.meta.dirname, "cert.pem");

/** Starts a TLS proxy for an embedded server. Calls to AWS always use TLS, for which Node loads more modules. */
export const startTls = async (target: string) => {
  const files = { cert: readFileSync(certificate), key: readFileSync(join(import.meta.dirname, "key.pem")) };
  const server = createServer(files, (incoming, outgoing) => {
    const { method = "GET", headers, url = "/" } = incoming;
    const passed = request(target + url, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  const { port, close } = await listen(server);
  return { url: `https://127.0.0.1:${port}`, close };
};
