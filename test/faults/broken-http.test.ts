import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { rawForm } from "../support/fixtures/attachments.ts";
import { type Tenants, tenants } from "../support/fixtures/tenants.ts";
import { call } from "../support/requests/client.ts";

/** Malformed HTTP over real sockets: it gets a 4xx or a closed connection, and the next request is served. */

let t: Tenants;
beforeAll(async () => {
  t = await tenants();
});

/** Writes the pieces, waits for a response and ends the connection; returns all that arrived within 2 s. */
const exchange = async (pieces: readonly (string | Uint8Array)[], waitMs = 150): Promise<string> => {
  const { port } = new URL(process.env.PATCHBAY_URL ?? "");
  const socket = connect(Number(port), "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => {});
  const closed = once(socket, "close").then(() => "closed");
  socket.setNoDelay();
  for (const piece of pieces) if (socket.writable) socket.write(piece);
  await Promise.race([closed, sleep(waitMs)]);
  if (socket.writable) socket.end();
  const outcome = await Promise.race([closed, sleep(2_000, "hangs", { ref: false })]);
  socket.destroy();
  expect(outcome).toBe("closed");
  return Buffer.concat(chunks).toString("latin1");
};

const statuses = (received: string) =>
  [...received.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));

const list = () => t.attachments("request", "acme");
const key = () => `Authorization: Bearer ${t.key("acme")}\r\n`;
const get = (more: string, path = list()) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}Connection: close\r\n\r\n`;
const post = (more: string, body = "") => `POST ${list()} HTTP/1.1\r\nHost: x\r\n${key()}${more}\r\n${body}`;

const corpus: readonly (readonly [string, () => string])[] = [
  ["an empty request", () => ""],
  ["a TLS handshake", () => "\u0016\u0003\u0001\u0002\u0000\r\n\r\n"],
  ["HTTP/0.9", () => `GET ${list()}\r\n\r\n`],
  ["an unknown method", () => get("").replace("GET", "BREW")],
  ["an unknown version", () => get("").replace("HTTP/1.1", "HTTP/9.9")],
  ["a request without a Host", () => get("").replace("Host: x\r\n", "")],
  ["a request with two Hosts", () => get("Host: y\r\n")],
  ["a header without a colon", () => get("nonsense\r\n")],
  ["a header with a NUL", () => get("X: a\u0000b\r\n")],
  ["a folded header", () => get("X: a\r\n b\r\n")],
  ["a bare CR in a header", () => get("X: a\rY: b\r\n")],
  ["20 KB of one header", () => get(`X: ${"x".repeat(20_000)}\r\n`)],
  ["5,000 headers", () => get("X: 1\r\n".repeat(5_000))],
  ["a path of 20 KB", () => get(key(), `/${"x".repeat(20_000)}`)],
  ["dots in the path", () => get(key(), "/api/v1/../../../etc/passwd")],
  ["encoded dots in the path", () => get(key(), "/api/v1/requests/%2e%2e/attachments")],
  ["encoded slashes in the path", () => get(key(), `${list()}/..%2f..%2fother`)],
  ["a broken escape in the path", () => get(key(), "/api/v1/requests/%zz/attachments")],
  ["an overlong escape in the path", () => get(key(), "/api/v1/requests/%c0%ae/attachments")],
  ["a NUL in the path", () => get(key(), "/api/v1/requests/\u0000/attachments")],
  ["a whole URL as the path", () => get(key(), "http://evil.example/api/v1/switches")],
  ["a path with two slashes at the start", () => get(key(), "//evil.example/")],
  ["a star as the path", () => get(key(), "*").replace("GET", "OPTIONS")],
  ["a length that is no number", () => post("Content-Length: ten\r\n", "x")],
  ["a negative length", () => post("Content-Length: -1\r\n", "x")],
  ["two lengths", () => post("Content-Length: 1\r\nContent-Length: 2\r\n", "xx")],
  ["a length and chunks", () => post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")],
  ["a huge length", () => post("Content-Length: 99999999999\r\n", "x")],
  ["a body shorter than its length", () => post("Content-Length: 500\r\n", "x")],
  ["a chunk without a size", () => post("Transfer-Encoding: chunked\r\n", "zz\r\n")],
  ["a chunk of a huge size", () => post("Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\nx")],
  ["a chunk that ends early", () => post("Transfer-Encoding: chunked\r\n", "ff\r\nx")],
  ["an unknown transfer coding", () => post("Transfer-Encoding: gzip\r\n", "x")],
  ["an upgrade", () => get("Upgrade: websocket\r\nConnection: Upgrade\r\n")],
  ["an expectation", () => post("Expect: 200-maybe\r\nContent-Length: 0\r\n")],
];

describe("over a raw socket", () => {
  it.each(corpus)("%s is refused, and the next request is served", async (_, request) => {
    const received = await exchange([Buffer.from(request(), "latin1")]);
    for (const status of statuses(received)) expect(status).toBeLessThan(500);
    expect((await call("GET", list(), { key: t.key("acme") })).status).toBe(200);
  });

  it("a second request hidden in a body gets no response", async () => {
    const hidden = `GET /api/v1/switches HTTP/1.1\r\nHost: x\r\n${key()}\r\n`;
    const both = post(`Content-Length: ${hidden.length}\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${hidden}`);
    expect(statuses(await exchange([both])).filter((status) => status < 400)).toEqual([]);
  });

  it("a request that breaks off at any byte does not disturb others", async () => {
    const whole = Buffer.from(post("Content-Length: 5\r\nContent-Type: application/json\r\n", "{}   "));
    for (let end = 1; end < whole.length; end += 17)
      for (const status of statuses(await exchange([whole.subarray(0, end)], 20)))
        expect(status, `after ${end} bytes`).toBeLessThan(500);
    expect((await call("GET", list(), { key: t.key("acme") })).status).toBe(200);
  });

  it("a form that arrives byte by byte is accepted", async () => {
    const { body, headers } = rawForm(
      ['Content-Disposition: form-data; name="data[name]"', "LOA"],
      [
        'Content-Disposition: form-data; name="data[file]"; filename="loa.pdf"\r\nContent-Type: application/pdf',
        "%PDF",
      ],
    );
    const head = `Content-Type: ${headers["content-type"]}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n`;
    const bytes = [...body].map((byte) =>
      Buffer.concat([Buffer.from("1\r\n"), Buffer.from([byte]), Buffer.from("\r\n")]),
    );
    expect(statuses(await exchange([post(head), ...bytes, "0\r\n\r\n"], 2_000))).toEqual([201]);
  });
});
