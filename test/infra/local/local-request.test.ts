import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { listen, serveLocally } from "../../../infra/local/listen.ts";
import { startProxy, startTable } from "../../../infra/local/table.ts";
import { sendPlain } from "../../support/requests/plain-request.ts";

/** A separate DynamoDB behind a local proxy, as `npm start` has one. */
vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", "");
const table = await startTable("behind-a-proxy");
afterAll(table.close);

/** The addresses that other programs use. For S3, the path has a key that S3 refuses before it verifies the signature. */
const addresses = (): [name: string, url: string][] => {
  const paths: Record<string, string> = { CARRIER_URL: "/faults", AWS_ENDPOINT_URL_S3: "/patchbay-files/other" };
  const environment = { ...inject("environment"), AWS_ENDPOINT_URL_DYNAMODB: table.proxy };
  const all = Object.entries(environment).filter(([, value]) => value.startsWith("http://"));
  return all.map(([name, url]) => [name, url + (paths[name] ?? "")]);
};

const statusOf = async (url: string, method: string, headers: Record<string, string>, path?: string) =>
  (await sendPlain(url, { method, headers, ...(path && { path }) })).status;

const loopback = ["localhost:3000", "127.0.0.1", "127.1.2.3:80", "[::1]:3000", "host.docker.internal:4567"];
const allowed: [string, Record<string, string>][] = [
  ["a command line", {}],
  ["this machine's browser", { "sec-fetch-site": "same-origin" }],
  ["a page of the same origin", { host: "localhost:1", origin: "http://localhost:1" }],
  ...loopback.map((host): [string, Record<string, string>] => [`the host ${host}`, { host }]),
];
const refused: [string, Record<string, string>][] = [
  ["a host name that resolves to this machine", { host: "evil.example" }],
  ["a host name that looks like this machine", { host: "localhost.evil.example" }],
  ["a host name that looks like that of containers", { host: "host.docker.internal.evil.example" }],
  ["a page of another site", { origin: "https://evil.example", "content-type": "text/plain" }],
  ["a page of another site on this machine", { origin: "http://127.0.0.1:1" }],
  ["a page without an origin", { origin: "null" }],
  ["a cross-site page according to its browser", { "sec-fetch-site": "cross-site" }],
];

describe("an endpoint for this machine's user only", () => {
  it.each(allowed)("is open to %s", async (_label, headers) => {
    expect(addresses()).toHaveLength(5);
    for (const [name, url] of addresses())
      expect(await statusOf(url, "GET", { authorization: "any", ...headers }), name).not.toBe(403);
  });

  it.each(refused)("is closed to %s", async (_label, headers) => {
    for (const [name, url] of addresses())
      for (const method of ["GET", "OPTIONS", "POST", "DELETE"])
        expect(await statusOf(url, method, { authorization: "any", ...headers }), `${method} ${name}`).toBe(403);
  });

  it("sends the proxy's 403 as an error of DynamoDB, which no page may read", async () => {
    const { headers, body } = await sendPlain(table.proxy, { headers: { origin: "https://evil.example" } });
    expect(headers["access-control-allow-origin"]).toBeUndefined();
    expect(JSON.parse(body)).toMatchObject({ __type: "AccessDeniedException" });
  });
});

it.each(["/2015-03-31/functions/%/invocations", "//"])("a broken request gets a 400: %s", async (path) => {
  const { AWS_ENDPOINT_URL_LAMBDA = "" } = inject("environment");
  expect(await statusOf(AWS_ENDPOINT_URL_LAMBDA, "POST", {}, path)).toBe(400);
});

describe("the proxy in front of the embedded DynamoDB", () => {
  const proxyTo = async (database: RequestListener) => {
    const { url, close } = await listen(createServer(database));
    const proxy = await startProxy(url);
    onTestFinished(async () => void (await Promise.all([proxy.close(), close()])));
    return proxy;
  };

  it("passes on both sides as they are", async () => {
    const { url } = await proxyTo(async (incoming, outgoing) => {
      const { method, url: path, headers } = incoming;
      outgoing.writeHead(418, { "x-sent": headers["x-amz-target"] });
      outgoing.end(`${method} ${path} ${await text(incoming)}`);
    });
    const sent = { method: "PUT", path: "/a?b", headers: { "x-amz-target": "one" } };
    const { status, headers, body } = await sendPlain(url, sent, "content");
    expect([status, headers["x-sent"], body]).toEqual([418, "one", "PUT /a?b content"]);
  });

  it("ends a request whose client disconnects, and outlives that, as it does a database that disconnects", async () => {
    const received: [IncomingMessage, ServerResponse][] = [];
    const { url, port } = await proxyTo((...each) => received.push(each));
    const receive = async (count: number): Promise<[IncomingMessage, ServerResponse]> =>
      vi.waitUntil(() => received[count - 1], { timeout: 30_000 });
    const send = (headers = "", body = "") => {
      const socket = connect(port, "127.0.0.1");
      socket.write(`POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n${body}`);
      return socket;
    };
    const half = send("Content-Length: 10\r\n", "half");
    const [cutOff] = await receive(1);
    half.resetAndDestroy();
    await expect(text(cutOff)).rejects.toThrow("aborted");
    const whole = send();
    const [, late] = await receive(2);
    whole.resetAndDestroy();
    const next = sendPlain(url);
    const [, onTime] = await receive(3);
    // By now, the proxy has noticed that the other client has disconnected.
    late.end("late");
    onTime.end("on time");
    expect((await next).body).toBe("on time");
    const unanswered = expect(sendPlain(url)).rejects.toThrow("socket hang up");
    const [{ socket }] = await receive(4);
    socket.destroy();
    await unanswered;
  });
});

it("a local server that closes does not wait for open connections", async () => {
  const { promise: isReceived, resolve: receive } = Promise.withResolvers<void>();
  const { url, close } = await serveLocally(() => receive());
  const unanswered = expect(sendPlain(url)).rejects.toThrow("socket hang up");
  await isReceived;
  await close();
  await unanswered;
});
