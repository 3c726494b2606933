import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { carrierToken } from "../../../shared/checkout/carrier-token.ts";

/** A stand-in Secrets Manager that returns the secret, or an error if there is none. */
let secret: string | undefined;
let reads = 0;
const server = createServer((_, response) => {
  reads += 1;
  response.writeHead(secret === undefined ? 400 : 200, { "content-type": "application/x-amz-json-1.1" });
  response.end(
    JSON.stringify(secret === undefined ? { __type: "ResourceNotFoundException" } : { SecretString: secret }),
  );
});

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  vi.stubEnv("CARRIER_TOKEN", "from-the-environment");
  vi.stubEnv("CARRIER_SECRET_ARN", "");
  vi.stubEnv(
    "AWS_ENDPOINT_URL_SECRETS_MANAGER",
    `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`,
  );
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  server.close();
});
afterEach(() => vi.advanceTimersByTime(3_600_000));

it("the carrier's token is read from the environment if no secret is named", async () => {
  expect([await carrierToken(), reads]).toEqual(["from-the-environment", 0]);
});

it("the carrier's token is read from its secret once, and again after five minutes", async () => {
  vi.stubEnv("CARRIER_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:000000000000:secret:carrier");
  secret = "first";
  expect(await Promise.all([carrierToken(), carrierToken()])).toEqual(["first", "first"]);
  secret = "second";
  expect([await carrierToken(), reads]).toEqual(["first", 1]);
  vi.advanceTimersByTime(301_000);
  expect([await carrierToken(), reads]).toEqual(["second", 2]);
});

it("a secret that cannot be read is an error, and is read again on the next call", async () => {
  secret = undefined;
  await expect(carrierToken()).rejects.toThrow();
  secret = "third";
  expect(await carrierToken()).toBe("third");
});
