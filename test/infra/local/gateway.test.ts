import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { afterEach, describe, expect, it } from "vitest";
import { type GatewayOptions, type Handler, startGateway } from "../../../infra/local/gateway.ts";
import { type Route, showOrderAttachment, showRequestAttachment } from "../../../shared/routes.ts";

const upload: Route = { ...showRequestAttachment, name: "upload", method: "POST", path: "/things/{thing_id}" };
const routes: Route[] = [upload, showOrderAttachment];

let stop: (() => Promise<void>) | undefined;
afterEach(async () => {
  await stop?.();
  stop = undefined;
});

const gateway = async (handler: Handler, options: Partial<GatewayOptions> = {}) => {
  const started = await startGateway({ routes, load: () => handler, port: 0, ...options });
  stop = started.close;
  return started;
};

/** A function that answers the event it was given. */
const echo: Handler = async (event) => ({
  statusCode: 200,
  headers: { "X-Request-Id": event.requestContext.requestId },
  body: JSON.stringify(event),
});

const envelope = (code: string, title: string, detail: string, more = {}) => ({
  errors: [{ code, title, detail, sub_code: "none", ...more }],
});

const expectError = async (response: Response, status: number, body: unknown) => {
  expect([response.status, await response.json()]).toEqual([status, body]);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("x-request-id")).toMatch(/^[\w-]{8,}$/);
};

describe("the local gateway", () => {
  it("hands a function the event of a REST proxy integration", async () => {
    const { url } = await gateway(echo);
    const response = await fetch(`${url}/things/a%2Fb%20c?x=1&x=2&y=%C3%A9`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Two": "one" },
      body: '{"ü":1}',
    });
    const event: APIGatewayProxyEvent = JSON.parse(await response.text());
    expect(event).toMatchObject({
      resource: "/things/{thing_id}",
      path: "/things/a%2Fb%20c",
      httpMethod: "POST",
      pathParameters: { thing_id: "a/b c" },
      queryStringParameters: { x: "2", y: "é" },
      multiValueQueryStringParameters: { x: ["1", "2"], y: ["é"] },
      stageVariables: null,
      body: '{"ü":1}',
      isBase64Encoded: false,
      requestContext: { resourcePath: "/things/{thing_id}", httpMethod: "POST", identity: { sourceIp: "127.0.0.1" } },
    });
    expect(event.multiValueHeaders["X-Two"] ?? event.multiValueHeaders["x-two"]).toEqual(["one"]);
    expect(response.headers.get("x-request-id")).toBe(event.requestContext.requestId);
  });

  it("hands over a form in base64, byte for byte, and null where there is nothing", async () => {
    const { url } = await gateway(echo);
    const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
    const form = await fetch(`${url}/things/1`, {
      method: "POST",
      headers: { "content-type": "Multipart/Form-Data; boundary=x" },
      body: bytes,
    });
    const event: APIGatewayProxyEvent = JSON.parse(await form.text());
    expect([event.isBase64Encoded, Buffer.from(event.body ?? "", "base64")]).toEqual([true, Buffer.from(bytes)]);
    const empty: APIGatewayProxyEvent = JSON.parse(await (await fetch(`${url}/things/1`, { method: "POST" })).text());
    expect([empty.body, empty.queryStringParameters, empty.isBase64Encoded]).toEqual([null, null, false]);
  });

  it("answers 404 to unknown routes, wrong methods and paths that cannot be decoded", async () => {
    const { url } = await gateway(echo);
    const body = envelope("not_found", "Not Found", "There is nothing at this address.");
    for (const [method, path] of [
      ["GET", "/"],
      ["GET", "/api/v2/requests"],
      ["GET", "/things/1"],
      ["PUT", "/things/1"],
      ["OPTIONS", "/things/1"],
      ["POST", "/things/"],
      ["POST", "/things/1/"],
      ["POST", "/things/%E0%A4%A"],
    ] as const)
      await expectError(await fetch(url + path, { method }), 404, body);
  });

  it("answers 413 to a body over 10 MB and to an event over 6 MB, with what would have fitted", async () => {
    const { url } = await gateway(echo);
    for (const [size, limit] of [
      [7_000_000, 4_600_000],
      [11_000_000, 10_485_760],
    ] as const) {
      const sent = {
        method: "POST",
        headers: { "content-type": "multipart/form-data; boundary=x" },
        body: new Uint8Array(size),
      };
      const detail = `The body or the file is larger than ${limit} bytes.`;
      const body = envelope("payload_too_large", "Payload Too Large", detail, { params: { limit_bytes: limit } });
      await expectError(await fetch(`${url}/things/1`, sent), 413, body);
    }
  });

  it("answers 413 to a body whose length nobody told, too", async () => {
    const { url } = await gateway(echo);
    const chunk = new Uint8Array(1_000_000);
    let left = 12;
    const body = new ReadableStream({
      pull: (controller) => {
        left -= 1;
        return left < 0 ? controller.close() : controller.enqueue(chunk);
      },
    });
    const response = await fetch(`${url}/things/1`, { method: "POST", body, duplex: "half" as const });
    expect(response.status).toBe(413);
  });

  it("throttles with a token bucket: 429 and Retry-After", async () => {
    const { url } = await gateway(echo, { throttle: { rate: 0, burst: 2 } });
    const answers = [];
    for (let n = 0; n < 3; n += 1) answers.push(await fetch(`${url}/things/1`, { method: "POST" }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]?.headers.get("retry-after")).toBe("1");
    if (answers[2])
      await expectError(
        answers[2],
        429,
        envelope("rate_limited", "Too Many Requests", "Too many requests: try again later."),
      );
  });

  it("answers 500 for a function that throws or answers nonsense, and tells nothing", async () => {
    const body = envelope("internal_error", "Internal Server Error", "Something went wrong on our side.");
    for (const handler of [
      async () => Promise.reject(new Error("secret")),
      async () => JSON.parse("{}"),
      async () => ({ statusCode: 200, body: "x".repeat(7_000_000) }),
    ] satisfies Handler[]) {
      const { url, close } = await gateway(handler);
      await expectError(await fetch(`${url}/things/1`, { method: "POST" }), 500, body);
      await close();
      stop = undefined;
    }
  });

  it("answers 503 for a function that takes too long", async () => {
    const { url } = await gateway(() => new Promise(() => {}), { functionTimeoutMs: 20 });
    const response = await fetch(`${url}/things/1`, { method: "POST" });
    expect(response.headers.get("retry-after")).toBe("2");
    const detail = "The service is temporarily unavailable: try again later.";
    await expectError(response, 503, envelope("service_unavailable", "Service Unavailable", detail));
  });

  it("answers what is not HTTP, or has too many headers, in the same envelope", async () => {
    const { port } = await gateway(echo);
    const raw = async (sent: string) => {
      const socket = connect(port, "127.0.0.1");
      socket.write(sent);
      return text(socket);
    };
    const garbage = await raw("NONSENSE\r\n\r\n");
    expect(garbage).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(garbage).toContain('"sub_code":"malformed"');
    const headers = await raw(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(11_000)}\r\n\r\n`);
    expect(headers).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(headers).toContain("has more than 10240 bytes of headers");
    expect(headers).toMatch(/X-Request-Id: [\w-]{8,}/);
  });
});
