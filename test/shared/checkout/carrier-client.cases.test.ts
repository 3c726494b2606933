import http from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { createServer } from "node:net";
import { Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from "node:zlib";
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  callCarrier,
  interpret,
  isRepeatedInStep,
  maxRetryAfterSeconds,
  retryAfterSeconds,
  waitMs,
} from "../../../shared/checkout/carrier-client.ts";
import { FileError, filePartBody, verified } from "../../../shared/checkout/carrier-form.ts";
import { meaningOf, meanings } from "../../../shared/checkout/carrier-responses.ts";
import { callTimeoutMs, maxCallMs, pauseSeconds } from "../../../shared/checkout/limits.ts";
import { type CarrierResponse, scriptedCarrier } from "../../support/servers/scripted-carrier.ts";

/** How the client interprets the carrier's responses and the network's errors. */

const carrier = await scriptedCarrier();
afterAll(() => carrier.close());

describe("a response of the carrier", () => {
  const every = ["GET", "PUT", "DELETE", "POST"];
  const [json, html] = ['{"error":"why"}', "<html>"];
  it.each<[keyof typeof meanings, readonly string[], readonly number[], readonly string[]]>([
    ["success", ["PUT", "DELETE"], [200, 201, 204], [json, "", " ", '{"checked_out":false}', "true", "[]"]],
    ["success", ["GET"], [200, 201, 204], [json, html, ""]],
    ["success", ["POST"], [200, 201, 204], ['{"checked_out":true}']],
    ["unplaced", ["POST"], [200, 201, 204], ['{"checked_out":false}']],
    ["accepted", ["POST"], [200, 201, 204], [json, "", '{"checked_out":"true"}', "true"]],
    ["uncommitted", ["PUT", "DELETE", "POST"], [200, 201, 204], [html, "OK", '{"checked_out":tr']],
    ["uncommitted", every, [202, 203, 206, 299], [json, html, "", '{"checked_out":true}']],
    ["gone", ["DELETE"], [404, 410], [json, "{}", '{"reason":"why"}', ""]],
    ["denial", ["DELETE"], [404, 410], [html]],
    ["differs", ["POST"], [412], [json, "", '{"attachments":[]}', '{"reason":"why"}']],
    ["denial", ["POST"], [412], [html]],
    ["denial", ["PUT", "DELETE", "GET"], [412], [json, '{"reason":"why"}']],
    ["conflict", every, [409], [json, html, '{"reason":"why"}']],
    ["throttled", every, [429], [json, '{"reason":"why"}']],
    ["unanswered", every, [199, 408, 500, 502, 503, 504, 599], [json, html, '{"reason":"why"}']],
    ["unanswered", ["PUT", "DELETE", "POST"], [501], [json]],
    ["denial", every, [422], [json, html, "", '{"detail":"why"}']],
    ["refusal", ["POST"], [400, 422], ['{"attachments":[]}']],
    ["denial", ["PUT", "DELETE", "GET"], [422], ['{"attachments":[]}']],
    ["denial", ["POST"], [401, 407], ['{"attachments":[]}']],
    ["refusal", every, [400, 403, 422, 499], ['{"reason":"why"}']],
    ["denial", every, [401, 407], ['{"reason":"why"}']],
    ["refusal", ["PUT", "POST", "GET"], [404, 410], ['{"reason":"why"}']],
    ["denial", every, [400, 401, 403, 405, 407, 428, 430, 499], [json, html, "", '{"reason":7}', '{"reason":" "}']],
    ["denial", ["PUT", "POST", "GET"], [404, 410], [json, html]],
    ["denial", ["GET"], [501], [json, html]],
    ["diverted", ["POST"], [301, 302, 303], [json, html]],
    ["redirect", ["PUT", "DELETE", "GET"], [301, 302, 303], [json, html]],
    ["redirect", every, [300, 304, 307, 308, 399], [json, html, '{"reason":"why"}']],
  ])("means %s, to %j with %j", (meaning, methods, statuses, bodies) => {
    for (const method of methods)
      for (const status of statuses)
        for (const text of bodies) {
          const {
            settles,
            mayHaveActed,
            mayStillAct,
            json: parsed,
            reason,
          } = interpret(method, { status, headers: {}, text });
          expect(meaningOf({ method, status, text, json: parsed, reason }), `${method} ${status} ${text}`).toBe(
            meaning,
          );
          const { acted, ...row } = meanings[meaning];
          expect({ settles, mayStillAct, mayHaveActed }).toMatchObject({
            settles: row.settles,
            mayStillAct: row.mayStillAct,
          });
          expect(mayHaveActed).toBe(acted !== "no");
        }
  });

  it.each([
    [500, 500],
    [501, 500],
  ])("of %i characters is kept up to the 500th: %i", (length, kept) => {
    const response = { status: 422, headers: {}, text: "x".repeat(length) };
    expect(interpret("PUT", response)).toMatchObject({ text: "x".repeat(kept) });
  });

  it.each<[string, string | null]>([
    ['{"reason":"The letter is not signed.","code":7}', "The letter is not signed."],
    [`{"reason":"${"x".repeat(501)}"}`, "x".repeat(500)],
    [`{"reason":"${"x".repeat(499)}😀"}`, "x".repeat(499)],
    ['{"reason":" "}', null],
    ['{"reason":7}', null],
    ['{"error":"The letter is not signed."}', null],
    ["The letter is not signed.", null],
    ["", null],
  ])("%j has the reason %j for the customer", (text, reason) => {
    expect(interpret("PUT", { status: 422, headers: {}, text })).toMatchObject({
      settles: reason === null ? "denied" : "refused",
      reason,
    });
  });

  it("is kept without the line break at its end", () => {
    expect(interpret("PUT", { status: 422, headers: {}, text: '{"reason": "No"}\r\n' }).text).toBe('{"reason": "No"}');
  });
});

describe("a wait", () => {
  const now = new Date("2026-11-21T10:00:00Z");
  it.each([
    [undefined, 0],
    ["7", 7],
    [" 7 ", 7],
    ["7.5", 0],
    ["3000.5", 0],
    ["in 2099", 0],
    ["-1", 0],
    ["7 s", 0],
    ["14400", maxRetryAfterSeconds],
    ["7201", 7_200],
    ["soon", 0],
    ["Sat, 21 Nov 2026 10:00:30 GMT", 30],
    ["Saturday, 21-Nov-26 10:00:30 GMT", 30],
    ["2026-11-21T10:00:00.001Z", 1],
    ["Sat, 21 Nov 2026 09:00:00 GMT", 0],
  ])("Retry-After %j is %i seconds", (given, seconds) => {
    expect(retryAfterSeconds(given, now)).toBe(seconds);
  });

  it.each([
    [1, 0, 0, 125],
    [3, 0, 0.5, 750],
    [1, 1, 1, 1_000],
    [4, 1, 1, 2_000],
  ])("after attempt %i with Retry-After %i and jitter %f takes %i ms", (attempt, retryAfter, jitter, ms) => {
    expect(waitMs(attempt, retryAfter, () => jitter)).toBe(ms);
  });

  it.each([
    [1, 5_000, 5_001, true],
    [3, 5_000, 5_001, true],
    [4, 5_000, 5_001, false],
    [1, 5_001, 9_000, false],
    [1, 5_000, 5_000, false],
  ])("after attempt %i of %i ms, of %i that are left, is in the step: %s", (attempt, wait, left, inStep) => {
    expect(isRepeatedInStep(attempt, wait, left)).toBe(inStep);
  });
});

/** The outcome of one attempt, which is a status or the code of a network error. */
type Attempt = number | string;

const errorWith = (properties: object) => Object.assign(new Error("injected"), properties);

describe("a call", () => {
  const { request } = http;
  beforeEach(() => {
    vi.stubEnv("CARRIER_URL", `${carrier.url}/api/`);
    vi.stubEnv("CARRIER_TOKEN", "");
    vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
    // Makes the jittered waits end immediately.
    vi.spyOn(Math, "random").mockReturnValue(-0.99);
  });
  afterEach(() => {
    http.request = request;
    syncBuiltinESMExports();
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  /** Injects network errors, because a test cannot make a real network fail at a certain attempt. */
  const failWith = (errors: (Error | undefined)[]) => {
    const failing = (...args: Parameters<typeof request>) => {
      const error = errors.shift();
      if (!error) return request(...args);
      return new Writable({ construct: (done) => done(error) });
    };
    Object.assign(http, { request: failing });
    syncBuiltinESMExports();
  };

  const carrierThat = (...attempts: readonly Attempt[]) => {
    failWith(attempts.map((attempt) => (typeof attempt === "string" ? errorWith({ code: attempt }) : undefined)));
    return carrier.respondInTurn(...attempts.filter((attempt) => typeof attempt === "number"));
  };
  const call = { method: "DELETE", path: "/carts/1/requests/2/attachments/3", idempotencyKey: "withdraw-1" } as const;

  const notActed = { mayHaveActed: false, mayStillAct: false };
  const mayHaveActed = { mayHaveActed: true, mayStillAct: false };
  const mayStillAct = { mayHaveActed: true, mayStillAct: true };
  it.each<[string, Attempt[], object]>([
    ["is done in the fourth attempt", [503, 503, 503, 200], { settles: "done", ...mayStillAct }],
    ["has four attempts", [429, 429, 429, 429], { settles: "nothing", wait_seconds: 0, ...notActed }],
    ["may have acted before it was refused", [503, 422], { settles: "refused", ...mayStillAct }],
    ["has not acted where it was refused", [429, 422], { settles: "refused", ...notActed }],
    ["has not acted where it was denied", [302, 403], { settles: "denied", ...notActed }],
    ["remembers an attempt that may have acted", [500, 429, 429, 429], mayStillAct],
    ["may have acted in its last attempt", [429, 429, 429, 500], { settles: "nothing", ...mayStillAct }],
    ["may still act where the connection broke", ["ECONNRESET", 422], { settles: "refused", ...mayStillAct }],
    ["is in conflict with its own first attempt", [504, 409], { settles: "conflict", ...mayStillAct }],
    ["is in conflict with another", [409], { settles: "conflict", ...mayHaveActed }],
    ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ERR_INVALID_CHAR"].map((code): [string, Attempt[], object] => [
      `never arrived with ${code}`,
      [code, 422],
      notActed,
    ]),
  ])("%s: %j", async (_, attempts, outcome) => {
    const calls = carrierThat(...attempts);
    expect(await callCarrier(call)).toMatchObject(outcome);
    expect(calls.length).toBe(attempts.filter((attempt) => typeof attempt === "number").length);
  });

  it("is sent to its path below the carrier's address, with its key if it has one", async () => {
    const sent: unknown[] = [];
    const server = http.createServer(({ method, url, headers }, response) => {
      const { accept, "accept-encoding": encoding, "cache-control": caches } = headers;
      sent.push([method, url, accept, encoding, caches, headers["idempotency-key"]]);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    vi.stubEnv("CARRIER_URL", `http://127.0.0.1:${Object(server.address()).port}/api/`);
    await callCarrier(call);
    await callCarrier({ method: "GET", path: "/carts/1" });
    expect(sent).toEqual([
      ["DELETE", "/api/carts/1/requests/2/attachments/3", "application/json", "identity", undefined, "withdraw-1"],
      ["GET", "/api/carts/1", "application/json", "identity", "no-cache, no-store", undefined],
    ]);
  });

  /** A carrier that handles each request so. */
  const serve = async (onRequest: http.RequestListener) => {
    const server = http.createServer(onRequest);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    vi.stubEnv("CARRIER_URL", `http://127.0.0.1:${Object(server.address()).port}`);
    return server;
  };
  const connectionsOf = (server: http.Server) =>
    new Promise((resolve) => server.getConnections((_, count) => resolve(count)));

  it.each(["GET", "PUT", "DELETE", "POST"] as const)(
    "takes no second response to another call for that to a %s",
    async (method) => {
      let calls = 0;
      const sent = new WeakMap<object, string>();
      const server = await serve(({ socket }) => {
        calls += 1;
        const body = JSON.stringify({ response: calls });
        const response = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
        // The second response to the first call on a connection comes when that connection has the next call.
        socket.write((sent.get(socket) ?? "") + response);
        sent.set(socket, response);
      });
      await callCarrier({ ...call, method: "PUT" });
      // Time for a client to put the connection back into its pool.
      await new Promise((resolve) => setTimeout(resolve, 10));
      expect(await callCarrier({ ...call, method })).toMatchObject({ json: { response: 2 } });
      await vi.waitFor(async () => expect(await connectionsOf(server)).toBe(0), 20_000);
    },
  );

  describe("with a compressed response", () => {
    const text = '{"reason":"The letter is not signed."}';
    it.each<[string, (text: string) => Buffer]>([
      ["gzip", gzipSync],
      ["X-GZIP", gzipSync],
      ["deflate", deflateSync],
      ["deflate", deflateRawSync],
      ["br", brotliCompressSync],
      ["identity", Buffer.from],
    ])("understands it: %s", async (encoding, compress) => {
      await serve((_, response) => response.writeHead(422, { "Content-Encoding": encoding }).end(compress(text)));
      expect(await callCarrier(call)).toMatchObject({ settles: "refused", text, reason: "The letter is not signed." });
    });

    it.each(["gzip", "deflate", "br"])("takes an empty one for empty: %s", async (encoding) => {
      await serve((_, response) => response.writeHead(200, { "Content-Encoding": encoding }).end());
      expect(await callCarrier(call)).toMatchObject({ status: 200, text: "" });
    });

    it.each([
      ["gzip", () => createGzip({ level: 1 })],
      ["br", () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ] as const)("reads no more of a bomb than of any other response: %s", async (encoding, compressor) => {
      // In pieces, because the highest memory so far would otherwise include the 400 MB.
      const pieces = Array<Buffer>(400).fill(Buffer.alloc(1_000_000, "x"));
      const bomb = await buffer(Readable.from(pieces).pipe(compressor()));
      await serve((_, response) => response.writeHead(422, { "Content-Encoding": encoding }).end(bomb));
      const before = process.resourceUsage().maxRSS;
      expect(await callCarrier(call)).toMatchObject({ status: 422, text: "x".repeat(500) });
      expect(process.resourceUsage().maxRSS - before).toBeLessThan(100_000);
    });

    it.each(["gzip", "br"])("says that it cannot be decompressed, and repeats the call: %s", async (encoding) => {
      await serve((_, response) => response.writeHead(422, { "Content-Encoding": encoding }).end(text));
      const { text: failure, ...outcome } = await callCarrier(call);
      expect(failure).toMatch(/^its response could not be decompressed \(\w+\)$/);
      expect(outcome).toMatchObject({ settles: "nothing", ...mayStillAct });
    });
  });

  describe("whose response repeats the token", () => {
    const token = "s3cret/Token+with=all";
    beforeEach(() => vi.stubEnv("CARRIER_TOKEN", token));
    const masked = "Bearer [token] is not valid.";
    const said = `Bearer ${token} is not valid.`;
    it.each<[string, string]>([
      ["as it is", JSON.stringify({ reason: said })],
      ["with escaped slashes", JSON.stringify({ reason: said }).replaceAll("/", "\\/")],
      [
        "as code units",
        JSON.stringify({ reason: said }).replaceAll(/[+=/]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`),
      ],
    ])("never shows it to customers or operators: %s", async (_, body) => {
      await serve((__, response) => response.writeHead(422).end(body));
      expect(await callCarrier(call)).toMatchObject({
        reason: masked,
        text: JSON.stringify({ reason: masked }),
        json: { reason: masked },
      });
    });

    it.each([
      ["in JSON in JSON", JSON.stringify(JSON.stringify({ header: token }).replaceAll("/", "\\/"))],
      ["in a URL", encodeURIComponent(token)],
      ["in HTML", token.replaceAll("+", "&#43;").replaceAll("=", "&#x3D;")],
      ["at the end of what is kept", `${"x".repeat(490)}${token}`],
    ])("never shows it to operators: %s", async (_, body) => {
      await serve((__, response) => response.writeHead(200).end(body));
      const { text } = await callCarrier(call);
      expect(text).toMatch(/\[token|[^ ]{500}/);
      expect(text).not.toContain("s3cret");
    });

    it("never shows it where an adapter function returns it", async () => {
      vi.stubEnv("CARRIER_FUNCTION", "the-adapter").stubEnv("AWS_ENDPOINT_URL_LAMBDA", carrier.url);
      carrier.respondInTurn([200, {}, JSON.stringify({ status: 422, body: { reason: said } })]);
      expect(await callCarrier(call)).toMatchObject({ reason: masked, text: JSON.stringify({ reason: masked }) });
    });
  });

  describe("over a socket of its own", () => {
    /** A carrier that writes this as its response to each call. */
    const respondWith = async (response: string) => {
      const server = createServer((socket) => {
        socket.on("error", () => {}).once("data", () => socket.write(response));
        onTestFinished(() => void socket.destroy());
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void server.close());
      vi.stubEnv("CARRIER_URL", `http://127.0.0.1:${Object(server.address()).port}`);
    };

    it.each([
      ["a body behind a 204", "HTTP/1.1 204 No Content\r\n\r\n{}", 204, ""],
      ["a body behind the length 0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n<html>", 200, ""],
      ["a longer body than its length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}<html>", 200, "{}"],
      [
        "both lengths",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        200,
        "{}",
      ],
      ["bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", 200, "{}"],
      [
        "headers of 200 KB",
        `HTTP/1.1 200 OK\r\n${`X-Trace: ${"x".repeat(4_000)}\r\n`.repeat(50)}Content-Length: 2\r\n\r\n{}`,
        200,
        "{}",
      ],
    ])("takes a complete response with %s", async (_, response, status, text) => {
      await respondWith(response);
      expect(await callCarrier(call)).toMatchObject({ settles: "done", status, text, ...mayHaveActed });
    });

    it.each([
      ["no HTTP", "SSH-2.0-OpenSSH_9.6\r\n", "HPE_INVALID_CONSTANT"],
      ["headers of 300 KB", `HTTP/1.1 200 OK\r\nX-Trace: ${"x".repeat(300_000)}\r\n\r\n`, "HPE_HEADER_OVERFLOW"],
      ["a chunk without a length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", "HPE_INVALID_CHUNK_SIZE"],
    ])("says that a response is not valid HTTP: %s", async (_, response, code) => {
      await respondWith(response);
      const text = `the response is not valid HTTP (${code})`;
      expect(await callCarrier(call)).toMatchObject({ settles: "nothing", status: null, text, ...mayStillAct });
    });
  });

  it("takes an unsolicited 100 Continue, and follows no redirect", async () => {
    const server = http.createServer((incoming, response) => {
      response.writeContinue();
      response.writeHead(incoming.url === "/elsewhere" ? 200 : 307, { Location: "/elsewhere" }).end("moved");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    vi.stubEnv("CARRIER_URL", `http://127.0.0.1:${Object(server.address()).port}`);
    expect(await callCarrier(call)).toMatchObject({ status: 307, settles: "nothing", text: "moved" });
    expect(await callCarrier({ method: "GET", path: "/elsewhere" })).toMatchObject({ status: 200, settles: "done" });
  });

  it("creates nothing of a body before there is a connection", async () => {
    // It never completes a TLS handshake.
    const server = createServer((socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    vi.stubEnv("CARRIER_URL", `https://127.0.0.1:${Object(server.address()).port}`).stubEnv(
      "CARRIER_TIMEOUT_MS",
      "200",
    );
    const created: string[] = [];
    const chunks = async function* () {
      for (const chunk of ["the first", "the rest"]) {
        created.push(chunk);
        yield Buffer.from(chunk);
      }
    };
    const body = () => ({ headers: { "Content-Length": "17" }, chunks, failure: () => undefined });
    const ended = await callCarrier({ method: "PUT", path: "/", body, endsBy: Date.now() + 200 });
    expect([ended.text, created]).toEqual(["it did not respond in time", []]);
  });

  it.each([
    ["without a body", ""],
    ["to an adapter function", "adapter"],
  ])("%s sends nothing if its process is frozen beyond its time while it connects", async (_, adapter) => {
    vi.stubEnv("CARRIER_FUNCTION", adapter).stubEnv("AWS_ENDPOINT_URL_LAMBDA", carrier.url);
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const freezing = (...args: Parameters<typeof http.request>) => {
      const outgoing = request(...args);
      vi.setSystemTime(Date.now() + 60_000);
      return outgoing;
    };
    Object.assign(http, { request: freezing });
    syncBuiltinESMExports();
    const calls = carrier.respondInTurn(200);
    const over = { settles: "nothing", text: "it did not respond in time", ...mayStillAct };
    expect(await callCarrier({ ...call, endsBy: Date.now() + 30_000 })).toMatchObject(over);
    expect(calls).toEqual([]);
  });

  it("calls again after an unsolicited 101", async () => {
    let calls = 0;
    const server = http.createServer(({ socket }, response) => {
      calls += 1;
      if (calls === 1) socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n");
      else response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    vi.stubEnv("CARRIER_URL", `http://127.0.0.1:${Object(server.address()).port}`);
    expect(await callCarrier(call)).toMatchObject({ status: 200, settles: "done", mayStillAct: true });
  });

  it.each([
    ["200 with an endless body, which is no document", 200, 1, mayStillAct],
    ["422 that comes before the whole body was sent", 422, 4_000_000, notActed],
  ])("is over with a %s", async (_, status, bytes, outcome) => {
    const server = http.createServer((incoming, response) => {
      incoming.on("error", () => {});
      response.on("error", () => {});
      response.writeHead(status).write("x".repeat(status === 200 ? 4_000_001 : 5_000));
      if (status !== 200) response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    vi.stubEnv("CARRIER_URL", `http://127.0.0.1:${Object(server.address()).port}`);
    const chunks = async function* () {
      for (let sent = 0; sent < bytes; sent += 100_000) yield Buffer.alloc(Math.min(bytes, 100_000));
    };
    const body = () => ({ headers: { "Content-Length": String(bytes) }, chunks, failure: () => undefined });
    expect(await callCarrier({ ...call, body })).toMatchObject({
      status,
      text: "x".repeat(500),
      ...outcome,
    });
  });

  describe("with a 200 that comes before the whole body was sent", () => {
    const bytes = 4_000_000;
    /** Sends a body of which the last part fails with this error, if there is one, to a carrier that handles each request so. */
    const callWith = async (onRequest: http.RequestListener, failure?: Error) => {
      const server = http.createServer(onRequest);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void server.close());
      vi.stubEnv("CARRIER_URL", `http://127.0.0.1:${Object(server.address()).port}`);
      const chunks = async function* () {
        for (let sent = 0; sent < bytes; sent += 100_000) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          if (failure && sent + 100_000 >= bytes) throw failure;
          yield Buffer.alloc(100_000);
        }
      };
      const body = () => ({ headers: { "Content-Length": String(bytes) }, chunks, failure: () => failure });
      return callCarrier({ method: "PUT", path: "/", body, endsBy: Date.now() + 30_000 });
    };

    it("is done once the rest was sent", async () => {
      let received = 0;
      const answered = await callWith((incoming, response) => {
        incoming.on("data", ({ length }) => {
          received += length;
        });
        response.end("{}");
      });
      expect(answered).toMatchObject({ settles: "done", status: 200, text: "{}", ...mayHaveActed });
      await vi.waitFor(() => expect(received).toBe(bytes), 20_000);
    });

    it("may have acted if the connection is closed meanwhile", async () => {
      const answered = await callWith((_, response) => response.writeHead(200, { Connection: "close" }).end("{}"));
      expect(answered).toMatchObject({ settles: "nothing", status: null, ...mayStillAct });
    });

    it("throws the error that interrupts its body meanwhile", async () => {
      const sent = callWith((incoming, response) => {
        incoming.on("error", () => {}).resume();
        response.end("{}");
      }, new Error("another file"));
      await expect(sent).rejects.toThrow("another file");
    });
  });

  it.each([
    [0, undefined, 30_000],
    [1_000_000, undefined, 31_000],
    [1_000_000, 100, 100],
  ])("with %i bytes, of which %j ms are left, may take %i ms", async (bytes, left, ms) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    // It never fires, because even 100 ms can pass on a busy machine.
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(new AbortController().signal);
    carrierThat(200);
    await callCarrier({ ...call, bytes, ...(left !== undefined && { endsBy: Date.now() + left }) });
    expect(timeout).toHaveBeenCalledExactlyOnceWith(ms);
  });

  it("is not sent once its time is over", async () => {
    const calls = carrierThat(200);
    const text = "the deadline passed before the call was sent";
    const unsent = { settles: "nothing", status: null, text, wait_seconds: 0, ...notActed };
    expect(await callCarrier({ ...call, endsBy: Date.now() })).toMatchObject(unsent);
    expect(calls).toEqual([]);
  });

  it("throws the error that interrupted its body", async () => {
    carrierThat("ECONNRESET");
    const body = () => ({ headers: {}, chunks: async function* () {}, failure: () => new Error("no file") });
    await expect(callCarrier({ ...call, body })).rejects.toThrow("no file");
  });

  const failureOf = async (error: Error) => {
    failWith(Array(4).fill(error));
    const { text, mayHaveActed } = await callCarrier(call);
    return [text, mayHaveActed];
  };
  it.each([
    ["a code", errorWith({ code: "EPIPE" }), "the connection broke (EPIPE)", true],
    ["its timeout", errorWith({ code: "ABORT_ERR" }), "it did not respond in time", true],
    ["no code", new RangeError("injected"), "the connection broke (RangeError)", true],
    [
      "several addresses",
      Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }),
      "it could not be called (ECONNREFUSED)",
      false,
    ],
  ])("is unavailable after an error with %s", async (_, error, reason, mayHaveActed) => {
    expect(await failureOf(error)).toEqual([reason, mayHaveActed]);
  });

  describe("through an adapter function", () => {
    beforeEach(() => {
      vi.stubEnv("CARRIER_FUNCTION", "the-adapter");
      vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", carrier.url);
    });
    const returns = (result: unknown): CarrierResponse => [200, {}, JSON.stringify(result)];
    const fails = (status: number, type?: string): CarrierResponse => [
      status,
      type ? { "x-amzn-errortype": type } : {},
    ];
    const notInvoked = "its function could not be invoked:";
    const failed = "its function failed or returned no status: see the function's log";
    it.each<[string, CarrierResponse, object]>([
      ["a document", returns({ status: 200, body: { id: 1 } }), { settles: "done", status: 200, text: '{"id":1}' }],
      ["a page", returns({ status: 200, body: "why" }), { settles: "nothing", mayHaveActed: true, text: "why" }],
      ["the first status", returns({ status: 200 }), { settles: "done", text: "" }],
      ["a header", returns({ status: 429, headers: { "Retry-After": "9" } }), { wait_seconds: 9, mayHaveActed: false }],
      ["the last status", returns({ status: 599 }), { status: 599, mayHaveActed: true }],
      ["too low a status", returns({ status: 199 }), { text: failed, mayHaveActed: true }],
      ["too high a status", returns({ status: 600 }), { text: failed, mayHaveActed: true }],
      ["429 of Lambda", fails(429), { text: `${notInvoked} 429`, mayHaveActed: false }],
      ["404 of Lambda", fails(404, "Gone:x"), { text: `${notInvoked} Gone`, mayHaveActed: false }],
      ["499 of Lambda", fails(499), { text: `${notInvoked} 499`, mayHaveActed: false }],
      ["500 of Lambda", fails(500), { text: `${notInvoked} 500`, mayHaveActed: true }],
    ])("that returns %s", async (_, response, outcome) => {
      const calls = carrier.respondInTurn(...Array(4).fill(response));
      expect(await callCarrier(call)).toMatchObject(outcome);
      expect(calls[0]).toBe("POST invocations");
    });
  });
});

describe("the limits of a call", () => {
  it("are those of its file, and of four attempts with three waits", () => {
    expect([0, 1, 1_000, 1_001].map(callTimeoutMs)).toEqual([30_000, 30_001, 30_001, 30_002]);
    expect([0, 1_000_000].map(maxCallMs)).toEqual([135_000, 139_000]);
  });

  it.each([
    [0, 0, 0, 3],
    [1, 0, 1, 10],
    [7, 0, 1, 640],
    [8, 0, 1, 900],
    [8, 0, 0, 450],
    [0, 4, 0, 4],
  ])("after %i waits, with Retry-After %i and jitter %f: %i s", (waits, retryAfter, jitter, seconds) => {
    expect(pauseSeconds(waits, retryAfter, () => jitter)).toBe(seconds);
  });
});

describe("the file of a call", () => {
  const chunks = ["ab", "cd", "e"].map((text) => Buffer.from(text));
  const sha256 = "36bbe50ed96841d10443bcb670d6554f0a34b761be67ec9c4a8ad2c0c44ca42c";
  const open = (parts: readonly Uint8Array[] | undefined) => async () =>
    parts &&
    (async function* () {
      yield* parts;
    })();
  const read = async (parts: readonly Uint8Array[] | undefined, bytes = 5, hash = sha256) => {
    const got: string[] = [];
    const error = await (async () => {
      for await (const chunk of verified({ bytes, sha256: hash }, open(parts))) got.push(Buffer.from(chunk).toString());
    })().catch((reason: unknown) => reason);
    return [got.join(""), error instanceof FileError ? [error.gone, error.message] : error];
  };

  it.each([
    ["is sent whole", chunks, 5, sha256, ["abcde", undefined]],
    ["may be empty", [], 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", ["", undefined]],
    ["is gone", undefined, 5, sha256, ["", [true, "its file is missing from storage"]]],
    ["is longer", chunks, 4, sha256, ["ab", [false, "its stored file is longer than the one uploaded"]]],
    ["is another", chunks, 5, "other", ["abcd", [false, "its stored file is not the one uploaded"]]],
  ])("%s", async (_, parts, bytes, hash, outcome) => {
    expect(await read(parts, bytes, hash)).toEqual(outcome);
  });

  it("is the second part of a form whose length is known, and keeps the error that interrupts it", async () => {
    const sent = { name: "LOA", notes: null, file_hint: "LOA", filename: 'a"b\r\n.pdf' } as const;
    const form = (parts: readonly Uint8Array[] | undefined) =>
      filePartBody("limit", { id: "1" }, { sent, contentType: "application/pdf", bytes: 5, sha256, open: open(parts) });
    const body = form(chunks);
    const { signal } = new AbortController();
    const text = Buffer.concat(await Array.fromAsync(body.chunks(signal))).toString();
    expect(text).toBe(
      '--limit\r\nContent-Disposition: form-data; name="metadata"\r\nContent-Type: application/json\r\n\r\n{"id":"1"}\r\n' +
        '--limit\r\nContent-Disposition: form-data; name="file"; filename="a%22b%0D%0A.pdf"\r\n' +
        "Content-Type: application/pdf\r\n\r\nabcde\r\n--limit--\r\n",
    );
    expect(body.headers).toEqual({
      "Content-Type": "multipart/form-data; boundary=limit",
      "Content-Length": String(text.length),
    });
    expect(body.failure()).toBe(undefined);
    const gone = form(undefined);
    await expect(Array.fromAsync(gone.chunks(signal))).rejects.toThrow("its file is missing from storage");
    expect(gone.failure()).toMatchObject({ name: "FileError", gone: true });
  });

  it.each([
    ["stalls", 1],
    ["is opened only then", 0],
  ])("is closed when its call ends, if it %s", async (_, chunksBefore) => {
    const call = new AbortController();
    const stalled = new Readable({ read: () => {} });
    const sent = { name: "LOA", notes: null, file_hint: "LOA", filename: "a.pdf" } as const;
    const open = async () => {
      if (chunksBefore === 0) call.abort();
      return stalled;
    };
    const body = filePartBody("limit", {}, { sent, contentType: "application/pdf", bytes: 5, sha256, open });
    const read = Array.fromAsync(body.chunks(call.signal));
    if (chunksBefore > 0) setImmediate(() => call.abort());
    await expect(read).rejects.toThrow("Premature close");
    expect([stalled.destroyed, body.failure()]).toEqual([true, undefined]);
  });
});
