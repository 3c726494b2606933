import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type GatewayOptions, type Handler, type Served, startGateway } from "../../../infra/local/gateway.ts";
import { createAttachmentRoutes, showAttachmentRoutes } from "../../../shared/attachments/routes.ts";
import type { GatewayEvent } from "../../../shared/http/request.ts";
import type { Route } from "../../../shared/route.ts";
import { createSwitchRoutes } from "../../../shared/switches/routes.ts";
import { errorBody } from "../../support/requests/client.ts";
import { exhaustive } from "../../support/setup/extent.ts";

const upload: Route = { ...showAttachmentRoutes.request, name: "upload", method: "POST", path: "/things/{thing_id}" };
const routes = [upload, showAttachmentRoutes.order, createAttachmentRoutes.request, createSwitchRoutes.own];
const [shown, switches] = ["/api/v1/orders/1/attachments/1", "/api/v1/switches"];

const gateway = async (handler: Handler, options: Partial<GatewayOptions> = {}) => {
  const started = await startGateway({ routes, load: () => handler, port: 0, ...options });
  onTestFinished(started.close);
  return started;
};

/** The head of a request. Its connection closes afterwards. */
const head = (line: string, ...headers: readonly string[]) =>
  `${[`${line} HTTP/1.1`, "Host: x", "Connection: close", ...headers].join("\r\n")}\r\n\r\n`;

/** Sends raw bytes and reads until the connection closes. */
const exchange = async (port: number, sent: string) => {
  const socket = connect(port, "127.0.0.1");
  socket.write(sent);
  return text(socket);
};

const post = (url: string) => fetch(`${url}/things/1`, { method: "POST" });

/** A function that returns the event that it gets. */
const echo: Handler = async (event) => ({
  statusCode: 200,
  headers: { "X-Request-Id": event.requestContext.requestId },
  body: JSON.stringify(event),
});

const expectError = async (response: Response, status: number, body: unknown) => {
  expect([response.status, await response.json()]).toEqual([status, body]);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("x-request-id")).toMatch(/^[\w-]{8,}$/);
};

describe("the local gateway", () => {
  it("passes a function the event of a REST proxy integration", async () => {
    const { url } = await gateway(echo);
    const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
    const response = await fetch(`${url}/things/a%2Fb%20c?x=1&x=2&y=%C3%A9`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Two": "one" },
      body: bytes,
    });
    const event: GatewayEvent = JSON.parse(await response.text());
    expect(event).toMatchObject({
      resource: "/things/{thing_id}",
      path: "/things/a%2Fb%20c",
      httpMethod: "POST",
      pathParameters: { thing_id: "a%2Fb%20c" },
      queryStringParameters: { x: "2", y: "é" },
      multiValueQueryStringParameters: { x: ["1", "2"], y: ["é"] },
      stageVariables: null,
      body: Buffer.from(bytes).toString("base64"),
      isBase64Encoded: true,
      requestContext: { resourcePath: "/things/{thing_id}", httpMethod: "POST", identity: { sourceIp: "127.0.0.1" } },
    });
    expect(event.multiValueHeaders["X-Two"] ?? event.multiValueHeaders["x-two"]).toEqual(["one"]);
    expect(response.headers.get("x-request-id")).toBe(event.requestContext.requestId);
  });

  it("passes on null for missing parts", async () => {
    const { url } = await gateway(echo);
    const empty: GatewayEvent = JSON.parse(await (await post(url)).text());
    expect([empty.body, empty.queryStringParameters, empty.isBase64Encoded]).toEqual([null, null, false]);
  });

  it("accepts parameters named like properties of every object, and passes on no others", async () => {
    const records: object[] = [];
    const { port } = await gateway(async ({ queryStringParameters, headers }) => {
      records.push(queryStringParameters ?? {}, headers);
      return { statusCode: 200, body: "" };
    });
    await exchange(port, head("POST /things/1?constructor=1&__proto__=1", "constructor: 1", "__proto__: 1"));
    const named = expect.arrayContaining(["constructor", "__proto__"].map((name) => [name, "1"]));
    expect(records.map(Object.entries)).toEqual([named, named]);
    expect(records.map((record) => Reflect.get(record, "valueOf"))).toEqual([undefined, undefined]);
  });

  it.each(["/things/1/", "//things/1", "///things/1/", "/things/%E0%A4%A"])("finds the route of %s", async (path) => {
    const { port } = await gateway(echo);
    expect(await exchange(port, head(`POST ${path}`))).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it.each(["..", "%2e%2e", "a%2F..", "a\\b"])(
    "resolves nothing in a path: %s is a parameter, and no folder",
    async (name) => {
      const { port } = await gateway(echo);
      const sent = await exchange(port, head(`POST /things/${name}?a=/../b`));
      expect(sent).toContain(JSON.stringify({ thing_id: name }));
      expect(sent).toContain('"queryStringParameters":{"a":"/../b"}');
      expect(await exchange(port, head(`POST /${name}/things/1`))).toMatch(/^HTTP\/1\.1 404 /);
      expect(await exchange(port, head(`POST /x/${name}/../things/1`))).toMatch(/^HTTP\/1\.1 404 /);
      expect(await exchange(port, head(`POST /x/${name}/..\\things\\1`))).toMatch(/^HTTP\/1\.1 404 /);
    },
  );

  it("returns 404 for unknown routes and wrong methods", async () => {
    const { url } = await gateway(echo);
    const body = errorBody({ code: "not_found", title: "Not Found", detail: "No route matches this method and path." });
    for (const method of ["GET", "PUT", "OPTIONS"])
      await expectError(await fetch(`${url}/things/1`, { method }), 404, body);
    for (const path of ["/", "/api/v2/requests", "/things/", "/things//1", "/things/1//"])
      await expectError(await fetch(url + path, { method: "POST" }), 404, body);
  });

  it("responds to HEAD as to GET, without the body", async () => {
    const { port } = await gateway(async () => ({ statusCode: 200, headers: { ETag: '"1"' }, body: '{"a":1}' }));
    const [asHead = "", asGet] = await Promise.all(
      ["HEAD", "GET"].map((method) => exchange(port, head(`${method} ${shown}`))),
    );
    expect(asHead).toMatch(/^HTTP\/1\.1 200 OK\r\nETag: "1"\r\nContent-Length: 7\r\n/);
    expect(asGet?.replace(/Date: .*/, "")).toBe(`${asHead}{"a":1}`.replace(/Date: .*/, ""));
  });

  it("sends a 304 without a Content-Length", async () => {
    const { port } = await gateway(async () => ({ statusCode: 304, headers: { ETag: '"1"' }, body: "" }));
    expect(await exchange(port, head(`GET ${shown}`))).toMatch(
      /^HTTP\/1\.1 304 Not Modified\r\n(?:(?!content-length|transfer-encoding).*\r\n)+\r\n$/i,
    );
  });

  const attachments = "/api/v1/requests/1/attachments";
  const [asForm, asJson] = ["multipart/form-data; boundary=x", "application/json"];
  it.each([
    [attachments, asForm, 4_600_000, " A larger file needs a direct upload.", { direct_upload: true }],
    [switches, asJson, 1_048_576, "", {}],
    ["/things/1", asForm, 4_600_000, "", {}],
  ])("returns 413 with the limit of the operation for a body that is too large: %s, %s", async (...each) => {
    const [path, type, limit_bytes, hint, more] = each;
    const { url } = await gateway(echo);
    const detail = `The body or the file is larger than ${limit_bytes} bytes.${hint}`;
    const params = { limit_bytes, ...more };
    const body = errorBody({ code: "payload_too_large", title: "Payload Too Large", detail, params });
    // Too large for Lambda, but not for API Gateway.
    const sent = { method: "POST", headers: { "content-type": type }, body: new Uint8Array(7_000_000) };
    await expectError(await fetch(url + path, sent), 413, body);
  });

  it.each([
    ["with a Content-Length", () => new Uint8Array(10_485_761)],
    ["without a Content-Length", () => ReadableStream.from(Array(12).fill(new Uint8Array(1_000_000)))],
  ])("returns 413 as plain text for a body above 10 MB %s, as API Gateway does", async (_label, body) => {
    const { url } = await gateway(echo);
    for (const path of ["/things/1", "/unknown"]) {
      const response = await fetch(url + path, { method: "POST", body: body(), duplex: "half" as const });
      const { status, headers } = response;
      expect([status, headers.get("content-type"), headers.get("x-request-id")]).toEqual([413, "text/plain", null]);
      expect(await response.text()).toBe("HTTP content length exceeded 10485760 bytes.");
    }
  });

  it("throttles with a token bucket, and returns 429 with Retry-After", async () => {
    const { url } = await gateway(echo, { throttle: { rate: 0, burst: 2 } });
    expect([(await post(url)).status, (await post(url)).status]).toEqual([200, 200]);
    const third = await post(url);
    expect(third.headers.get("retry-after")).toBe("1");
    const detail = "Too many requests: try again later.";
    await expectError(third, 429, errorBody({ code: "rate_limited", title: "Too Many Requests", detail }));
  });

  it("refills the bucket while time passes, up to the burst", async () => {
    const clock = vi.spyOn(performance, "now").mockReturnValue(0);
    onTestFinished(() => clock.mockRestore());
    const { url } = await gateway(echo, { throttle: { rate: 2, burst: 3 } });
    const accepted = async () => {
      let times = 0;
      while ((await post(url)).ok) times += 1;
      return times;
    };
    const counts = [await accepted()];
    for (const passed of [400, 600, 60_000]) {
      clock.mockReturnValue(passed);
      counts.push(await accepted());
    }
    expect(counts).toEqual([3, 0, 1, 3]);
  });

  it("returns 503 without details for a function that throws or returns an invalid result", async () => {
    const detail = "The service is temporarily unavailable: try again later.";
    const body = errorBody({ code: "service_unavailable", title: "Service Unavailable", detail });
    for (const handler of [
      async () => Promise.reject(new Error("secret")),
      async () => JSON.parse("{}"),
      async () => ({ statusCode: 200, headers: { "X-Bad": "\n" }, body: "" }),
    ] satisfies Handler[]) {
      const { url } = await gateway(handler);
      const response = await post(url);
      expect(response.headers.get("retry-after")).toBe("2");
      await expectError(response, 503, body);
    }
  });

  it("returns 503 for a function that takes too long", async () => {
    const { url } = await gateway(() => new Promise(() => {}), { functionTimeoutMs: 20 });
    const response = await post(url);
    expect(response.headers.get("retry-after")).toBe("2");
    const detail = "The service is temporarily unavailable: try again later.";
    await expectError(response, 503, errorBody({ code: "service_unavailable", title: "Service Unavailable", detail }));
  });

  it.each([
    ["no HTTP", "NONSENSE\r\n\r\n", 400, '"sub_code":"malformed"'],
    ["long headers", head("GET /", `X-Long: ${"x".repeat(11_000)}`), 431, "has more than 10240 bytes of headers"],
    ["no Host", "POST /things/1 HTTP/1.1\r\nConnection: close\r\n\r\n", 400, '"detail":"has no Host header"'],
    ["HTTP/1.0 without Host", "POST /things/1 HTTP/1.0\r\n\r\n", 200, '"httpMethod":"POST"'],
    ["an unknown expectation", head("POST /things/1", "Expect: nothing"), 200, '"httpMethod":"POST"'],
    ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", 404, '"code":"not_found"'],
    ["an absolute target", head("POST http://x/things/1?a=b"), 200, '"path":"/things/1"'],
    ["an absolute target that is no address", head("POST http://[/things/1"), 4, '"errors":'],
    [
      "a length and chunks, in which another request may hide",
      `${head("POST /things/1", "Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n`,
      400,
      '"sub_code":"malformed"',
    ],
    ["two lengths", `${head("POST /things/1", "Content-Length: 1", "Content-Length: 2")}xx`, 400, '"errors":'],
    ["a NUL in a header", head("GET /", "X: a\0b"), 400, '"errors":'],
    ["an asterisk", head("OPTIONS *"), 404, '"code":"not_found"'],
  ])("returns JSON with a request id for a request with %s", async (_label, sent, status, expected) => {
    const { port } = await gateway(echo);
    const response = await exchange(port, sent);
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status}`));
    expect(response).toMatch(/\r\nX-Request-Id: [\w-]{8,}\r\n/);
    if (status >= 400) expect(response).toContain("\r\nX-Content-Type-Options: nosniff\r\n");
    expect(response).toContain(expected);
  });

  it("measures a result as Lambda does, as JSON, and reports one that is too large with the request's id", async () => {
    const room = 6_291_556 - JSON.stringify({ statusCode: 200, body: "" }).length;
    // A quotation mark takes two bytes in JSON.
    for (const body of ["x".repeat(room), '"'.repeat(room / 2)]) {
      const fits = await gateway(async () => ({ statusCode: 200, body }));
      expect(await (await post(fits.url)).text()).toBe(body);
      const served: Served[] = [];
      const onRequest = (each: Served) => served.push(each);
      const { url } = await gateway(async () => ({ statusCode: 200, body: `${body}x` }), { onRequest });
      const requestId = (await post(url)).headers.get("x-request-id");
      const error = new Error("The function's result has 6291557 bytes. Lambda's limit is 6291556.");
      expect(served).toMatchObject([{ requestId, response: { status: 503 }, path: "/things/1", error }]);
    }
  });

  it.each([
    ["a Content-Length", "Content-Length: 10\r\n\r\nhalf"],
    ["chunks", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
  ])("reports a client that disconnects within a body with %s, without a response", async (_label, rest) => {
    const served: Served[] = [];
    const { port } = await gateway(echo, { onRequest: (each) => served.push(each) });
    for (const end of ["destroy", "end", "resetAndDestroy"] as const) {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      await once(socket, "connect");
      socket.write(`POST /things/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer key\r\n${rest}`);
      await sleep(50);
      socket[end]();
    }
    await vi.waitUntil(() => served.length === 3, 20_000);
    for (const { method, path, apiKey, response, error } of served)
      expect([method, path, apiKey, response, error]).toEqual(["POST", "/things/1", "key", undefined, undefined]);
  });

  it("goes on after a client that resets its connection, also one that Node leaves to it", async () => {
    const { port, url } = await gateway(echo);
    for (const sent of [`CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n`, "POST /things/1 HTTP/1.1\r\nHost: x\r\n\r\n"]) {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      await once(socket, "connect");
      socket.write(sent);
      socket.resetAndDestroy();
    }
    expect((await post(url)).status).toBe(200);
  });

  it("also sends WWW-Authenticate under API Gateway's name for it", async () => {
    const headers = { "WWW-Authenticate": "Bearer" };
    const { url } = await gateway(async () => ({ statusCode: 401, headers, body: "{}" }));
    const sent = (await post(url)).headers;
    expect(sent.get("www-authenticate")).toBe("Bearer");
    expect(sent.get("x-amzn-remapped-www-authenticate")).toBe("Bearer");
  });

  it.runIf(exhaustive)(
    "reads at most ten large bodies to their ends at a time, and serves small requests meanwhile",
    async () => {
      let [running, most] = [0, 0];
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const { url } = await gateway(async ({ body }) => {
        if ((body?.length ?? 0) < 1_000) return { statusCode: 202, body: "" };
        running += 1;
        most = Math.max(most, running);
        await released;
        running -= 1;
        return { statusCode: 200, body: "" };
      });
      const send = (body: RequestInit["body"], more: object = {}) =>
        fetch(`${url}/things/1`, { method: "POST", body: body ?? null, ...more });
      const file = new Uint8Array(4 * 1024 * 1024);
      const large = Array.from({ length: 15 }, () => send(file));
      await vi.waitUntil(() => running === 10, 20_000);
      expect((await send("small")).status).toBe(202);
      // This body has no declared length, and waits for its turn.
      const inChunks = send(new Blob([file]).stream(), { duplex: "half" });
      const givenUp = send(file, { signal: AbortSignal.timeout(50) });
      await expect(givenUp).rejects.toThrow("timeout");
      release();
      const statuses = (await Promise.all([...large, inChunks])).map(({ status }) => status);
      expect([statuses, most]).toEqual([statuses.map(() => 200), 10]);
      expect((await send(file)).status).toBe(200);
    },
  );

  it("keeps no body waiting for others that were announced and do not arrive", async () => {
    const { url, port } = await gateway(async () => ({ statusCode: 200, body: "" }));
    const idle = Array.from({ length: 12 }, () => connect(port, "127.0.0.1"));
    onTestFinished(() => idle.forEach((socket) => void socket.destroy()));
    for (const socket of idle) socket.write(`${head("POST /things/1", "Content-Length: 10485760")}x`);
    await Promise.all(idle.map((socket) => once(socket, "ready")));
    const body = new Uint8Array(4 * 1024 * 1024);
    expect((await fetch(`${url}/things/1`, { method: "POST", body })).status).toBe(200);
  });

  it.each([
    ["small", "x", 9],
    ["large", "x".repeat(100_000), 10_485_760],
  ])(
    "gives up a %s body that stops arriving, with a response, and the turn of a large one",
    async (_, sent, length) => {
      const { url, port } = await gateway(async () => ({ statusCode: 200, body: "" }), { silenceMs: 100 });
      const request = `${head("POST /things/1", `Content-Length: ${length}`)}${sent}`;
      const responses = await Promise.all(Array.from({ length: 10 }, () => exchange(port, request)));
      for (const response of responses) {
        expect(response).toMatch(/^HTTP\/1.1 408 /);
        expect(response).toContain("stopped arriving: no byte came for 0.1 seconds");
      }
      const body = new Uint8Array(100_000);
      expect((await fetch(`${url}/things/1`, { method: "POST", body })).status).toBe(200);
    },
  );

  it("runs forty requests at a time, and lets the others wait", async () => {
    let [running, most] = [0, 0];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { url } = await gateway(async () => {
      running += 1;
      most = Math.max(most, running);
      await released;
      running -= 1;
      return { statusCode: 200, body: "" };
    });
    const all = Array.from({ length: 100 }, () => post(url));
    await vi.waitUntil(() => running === 40, 20_000);
    release();
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect([statuses, most]).toEqual([statuses.map(() => 200), 40]);
  });
});
