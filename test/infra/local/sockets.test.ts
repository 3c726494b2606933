import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import pLimit from "p-limit";
import { afterAll, expect, it } from "vitest";
import { localServices } from "../../support/processes/local-service.ts";
import { byExtent } from "../../support/setup/extent.ts";

const services = localServices();
afterAll(() => services.remove());
const service = await services.start();

const addresses = (): string[] => {
  const { CARRIER_URL, EVENTS, ...all } = service.environment;
  const endpoints = ["LAMBDA", "SFN", "DYNAMODB", "S3"].map((name) => all[`AWS_ENDPOINT_URL_${name}`]);
  return [service.url, CARRIER_URL, EVENTS, ...endpoints].map(String);
};

const targets = () => [
  "*",
  "/",
  "//",
  "x:443",
  "http://x/y",
  "/openapi.json",
  "/docs/demo.json",
  `/api/v1/requests/${service.demo.REQUEST}/attachments`,
  "/carts/x/requests/y/attachments/z",
  "/carts/x/checkout",
  "/events",
  "/2015-03-31/functions/patchbay-apply/invocations",
  "/patchbay-files/attachments/x",
];
const headers = () => [
  "Content-Length: 40",
  "Transfer-Encoding: chunked",
  "Expect: 100-continue",
  "Expect: nothing",
  "Connection: Upgrade\r\nUpgrade: websocket",
  "Connection: close",
  "Content-Type: multipart/form-data; boundary=b",
  "Content-Type: application/json",
  `Authorization: Bearer ${service.demo.KEY}`,
  "Authorization: AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x",
  "X-Amz-Target: AWSStepFunctions.ListExecutions",
  "X-Amz-Target: DynamoDB_20120810.ListTables",
  "Not a header",
  `Large: ${"x".repeat(11_000)}`,
];
const bodies = [
  "",
  "{}",
  '{"input": "',
  "5\r\nhello\r\n0\r\n\r\n",
  "ffffffffff\r\n",
  '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n',
  "x".repeat(100_000),
];

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE", "\0"];
const request = () =>
  fc
    .tuple(
      fc.constantFrom(...methods),
      fc.constantFrom(...targets()),
      fc.subarray(headers(), { maxLength: 4 }),
      fc.constantFrom(...bodies),
    )
    .map(([method, target, lines, body]) =>
      [`${method} ${target} HTTP/1.1`, "Host: localhost", ...lines, "", body].join("\r\n"),
    );

/** What a client does: it sends some requests, maybe the last one in part, waits for a moment or a response, and ends. */
const sequence = () =>
  fc.record({
    address: fc.constantFrom(...addresses()),
    requests: fc.array(request(), { minLength: 1, maxLength: 3 }),
    part: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
    waitMs: fc.constantFrom(0, 1, 20),
    waitsForResponse: fc.boolean(),
    end: fc.constantFrom("resetAndDestroy", "end", "destroy"),
  });
type Sequence = ReturnType<typeof sequence> extends fc.Arbitrary<infer Each> ? Each : never;

const run = async ({ address, requests, part, waitMs, waitsForResponse, end }: Sequence) => {
  const socket = connect(Number(new URL(address).port), "127.0.0.1").on("error", () => {});
  await once(socket, "connect");
  const bytes = requests.join("");
  socket.write(bytes.slice(0, Math.ceil(bytes.length * part)));
  if (waitsForResponse) await Promise.race([once(socket, "data").catch(() => {}), sleep(20)]);
  await sleep(waitMs);
  socket.resume()[end]();
  if (!socket.closed) await Promise.race([once(socket, "close").catch(() => {}), sleep(50)]);
  socket.destroy();
};

/** A failure prints its seed; SEED=… repeats it. */
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const count = byExtent({ sample: 600, most: 10_000, all: 10_000 });

it(`${count} random sequences of bytes, closes and resets end no service`, async () => {
  const limited = pLimit(30);
  const sequences = fc.sample(sequence(), { numRuns: count, seed });
  // A gateway that has ended refuses connections.
  await Promise.all(sequences.map((each) => limited(run, each))).catch(() => {});
  expect([service.child.exitCode, service.output.stderr], `SEED=${seed}`).toEqual([null, ""]);
  const answers = addresses().map(async (address) => (await fetch(address)).status);
  expect(await Promise.all(answers), `SEED=${seed}`).toEqual([404, 404, 200, 404, 400, 200, 400]);
  expect((await service.admin("account", "list")).code).toBe(0);
});
