import { once } from "node:events";
import { get, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { json, text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { startTable } from "../../../infra/local/table.ts";

/** A DynamoDB of its own, as `npm start` has it: with a door. */
let table: Awaited<ReturnType<typeof startTable>>;
beforeAll(async () => {
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", "");
  table = await startTable("behind-a-door");
  const client = new DynamoDBClient({ endpoint: table.door });
  const Item = { pk: { S: "switch" }, sk: { S: "one" }, secret: { S: "hunter2" } };
  await client.send(new PutItemCommand({ TableName: "behind-a-door", Item }));
});
afterAll(() => table.stop());

/** The addresses that other programs use. */
const addresses = () => {
  const environment = inject("environment");
  const {
    AWS_ENDPOINT_URL_S3 = "",
    AWS_ENDPOINT_URL_SFN = "",
    AWS_ENDPOINT_URL_LAMBDA = "",
    CARRIER_URL = "",
  } = environment;
  return {
    DynamoDB: table.door,
    // No key of it, which is refused before the signature is verified.
    S3: `${AWS_ENDPOINT_URL_S3}/patchbay-files/other`,
    "Step Functions": AWS_ENDPOINT_URL_SFN,
    Lambda: AWS_ENDPOINT_URL_LAMBDA,
    "the carrier": `${CARRIER_URL}/faults`,
  };
};

const statusOf = async (url: string, method: string, headers: Record<string, string>, path?: string) => {
  const options = { method, headers, agent: false, ...(path && { path }) };
  const [response]: IncomingMessage[] = await once(get(url, options), "response");
  if (!response) throw new Error("no response");
  await text(response);
  return response.statusCode;
};

/** The headers of a Scan. Nobody verifies the signature. */
const scan = {
  authorization:
    "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=x",
  "content-type": "application/x-amz-json-1.0",
  "x-amz-date": "20260101T000000Z",
  "x-amz-target": "DynamoDB_20120810.Scan",
};
const scanned = '{"TableName":"behind-a-door"}';

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
    for (const [name, url] of Object.entries(addresses()))
      expect(await statusOf(url, "GET", { authorization: "any", ...headers }), name).not.toBe(403);
  });

  it.each(refused)("is closed to %s", async (_label, headers) => {
    for (const [name, url] of Object.entries(addresses()))
      for (const method of ["GET", "OPTIONS", "POST", "DELETE"])
        expect(await statusOf(url, method, { authorization: "any", ...headers }), `${method} ${name}`).toBe(403);
  });

  it("says in the door's 403 why, as an error of DynamoDB", async () => {
    const sent = request(table.door, { method: "POST", headers: { ...scan, origin: "https://evil.example" } });
    sent.end(scanned);
    const [response]: IncomingMessage[] = await once(sent, "response");
    expect(response && [response.headers["access-control-allow-origin"], await json(response)]).toEqual([
      undefined,
      {
        __type: "AccessDeniedException",
        message: expect.stringContaining("Web pages and other host names are refused"),
      },
    ]);
  });
});

describe("a broken request", () => {
  const lambda = "/2015-03-31/functions";

  it.each([`${lambda}/%/invocations`, "//"])("gets a 400: %s", async (path) => {
    expect(await statusOf(addresses().Lambda, "POST", {}, path)).toBe(400);
  });

  it("is dropped if its client disconnects, and the service goes on", async () => {
    for (const url of [addresses().Lambda, addresses()["Step Functions"]]) {
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      socket.write(`POST ${lambda}/x/invocations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{`);
      await once(socket, "connect");
      await setImmediate();
      socket.destroy();
      expect(await statusOf(url, "POST", {})).toBeGreaterThanOrEqual(400);
    }
  });
});

describe("the table's door", () => {
  it("stays open when clients disconnect before their response", async () => {
    const { port } = new URL(table.door);
    const head = Object.entries(scan).map(([name, value]) => `${name}: ${value}\r\n`);
    for (let n = 0; n < 50; n += 1) {
      const socket = connect(Number(port), "127.0.0.1");
      socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${head.join("")}Content-Length: 29\r\n\r\n${scanned}`);
      await once(socket, "connect");
      await setImmediate();
      socket.destroy();
    }
    const response = await fetch(table.door, { method: "POST", headers: scan, body: scanned });
    expect(await response.text()).toContain("hunter2");
  });
});
