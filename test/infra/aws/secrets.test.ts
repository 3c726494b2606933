import { createServer } from "node:http";
import { expect, it, onTestFinished, vi } from "vitest";
import { listen } from "../../../infra/local/listen.ts";
import { carrierToken } from "../../../shared/checkout/carrier-token.ts";

it("the carrier's token is read from its secret once, and again after five minutes", async () => {
  const secrets = ["first", "second"];
  const { url, close } = await listen(
    createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify({ SecretString: secrets.shift() }));
    }),
  );
  onTestFinished(async () => {
    vi.useRealTimers().unstubAllEnvs();
    await close();
  });
  vi.stubEnv("CARRIER_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:000000000000:secret:carrier");
  vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url);
  vi.useFakeTimers({ toFake: ["Date"] });
  expect(await Promise.all([carrierToken(), carrierToken()])).toEqual(["first", "first"]);
  expect([await carrierToken(), secrets]).toEqual(["first", ["second"]]);
  vi.advanceTimersByTime(301_000);
  expect(await carrierToken()).toBe("second");
  // Expired for the tests after this one.
  vi.advanceTimersByTime(301_000);
});
