import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { startCarrier } from "../../../infra/local/carrier.ts";

let carrier: Awaited<ReturnType<typeof startCarrier>>;
beforeAll(async () => {
  carrier = await startCarrier();
});
afterAll(() => carrier.close());

const statusOf = async (url: string, method: string, headers: Record<string, string>) => {
  const [response]: IncomingMessage[] = await once(get(url, { method, headers, agent: false }), "response");
  if (!response) throw new Error("no response");
  await text(response);
  return response.statusCode;
};

const loopback = ["localhost:3000", "127.0.0.1", "127.1.2.3:80", "[::1]:3000"];
const allowed: [string, Record<string, string>][] = [
  ["a command line", {}],
  ["this machine's browser", { "sec-fetch-site": "same-origin" }],
  ["a page of the same origin", { host: "localhost:1", origin: "http://localhost:1" }],
  ...loopback.map((host): [string, Record<string, string>] => [`the host ${host}`, { host }]),
];
const refused: [string, Record<string, string>][] = [
  ["a host name that resolves to this machine", { host: "evil.example" }],
  ["a host name that looks like this machine", { host: "localhost.evil.example" }],
  ["a page of another site", { origin: "https://evil.example", "content-type": "text/plain" }],
  ["a page of another site on this machine", { origin: "http://127.0.0.1:1" }],
  ["a page without an origin", { origin: "null" }],
  ["a cross-site page according to its browser", { "sec-fetch-site": "cross-site" }],
];

describe("an endpoint for this machine's user only", () => {
  it.each(allowed)("is open to %s", async (_label, headers) => {
    expect(await statusOf(`${inject("baseUrl")}/docs/demo.json`, "GET", headers)).toBe(200);
    expect(await statusOf(`${carrier.url}/faults`, "DELETE", headers)).toBe(200);
  });

  it.each(refused)("is closed to %s", async (_label, headers) => {
    expect(await statusOf(`${inject("baseUrl")}/docs/demo.json`, "GET", headers)).toBe(404);
    for (const method of ["GET", "POST", "DELETE"])
      expect(await statusOf(`${carrier.url}/faults`, method, headers), method).toBe(403);
  });
});
