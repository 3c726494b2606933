import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import {
  completeUploadRoutes,
  createAttachmentRoutes,
  deleteAttachmentRoutes,
} from "../../shared/attachments/routes.ts";
import { routes } from "../../shared/routes.ts";
import { listSwitchesRoutes } from "../../shared/switches/routes.ts";
import type { ProxiedCall } from "../support/fault-proxy/proxy.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { repeatableRequest } from "../support/requests/repeatable-request.ts";
import { captureLogs } from "../support/servers/captured-logs.ts";
import { serveEndpoints } from "../support/servers/endpoints.ts";
import { proxies } from "../support/servers/own-table.ts";
import { byExtent, sampleOf } from "../support/setup/extent.ts";

/** Functions have 7 s here instead of 28: 1 s for the request, and 6 s in reserve. */
const functionTimeoutMs = 7_000;

const sample = sampleOf(routes, byExtent({ sample: 7, most: 1, all: 1 }));

const t = await tenants();
const ownServiceUrl = process.env.PATCHBAY_URL;
const gateway = await serveEndpoints({ functionTimeoutMs });
const logs = captureLogs();

const sendWithShortDeadline = async <T>(send: () => Promise<T>): Promise<T> => {
  process.env.PATCHBAY_URL = gateway.url;
  return send().finally(() => {
    process.env.PATCHBAY_URL = ownServiceUrl;
  });
};

afterEach(() => {
  for (const proxy of Object.values(proxies)) proxy.choose(() => undefined);
});
afterAll(async () => {
  logs.stop();
  await gateway.close();
});

/** The error of the last request in the log. */
const loggedError = () => {
  const lines = logs.written.map((line) => JSON.parse(line));
  return lines.findLast(({ message }) => message === "request").error;
};

/** Delays two of three attempts of every call by two seconds. */
const delayTwoOfThree = () => {
  let count = 0;
  return () => (count++ % 3 < 2 ? "delay" : undefined);
};

it.each([
  ["dynamodb BatchGetItem", createAttachmentRoutes.request],
  ["dynamodb TransactWriteItems", createAttachmentRoutes.request],
  ["s3 PutObject", createAttachmentRoutes.request],
  ["s3 GetObject", completeUploadRoutes.request],
])("the log of a 503 names the service, the operation and the number of attempts: %s", async (call, route) => {
  const run = await repeatableRequest(t, route);
  const fail = ({ operation }: ProxiedCall) => (call.endsWith(` ${operation}`) ? "status-500" : undefined);
  for (const proxy of Object.values(proxies)) proxy.choose(fail);
  expect((await run.send()).status).toBe(503);
  expect(loggedError()).toMatchObject({ call, attempts: 3 });
});

describe("at a request's deadline", () => {
  it("no further attempt is made", async () => {
    const run = await repeatableRequest(t, listSwitchesRoutes.own);
    proxies.table.arm();
    proxies.table.choose(() => "delay");
    await sendWithShortDeadline(run.send);
    const { length } = proxies.table.calls;
    await proxies.table.idle();
    // The SDK would repeat the call within 100 ms.
    await sleep(500);
    expect(proxies.table.calls).toHaveLength(length);
  });

  it("a delete that could not remove its file can be finished by a retry", async () => {
    const run = await repeatableRequest(t, deleteAttachmentRoutes.request);
    proxies.files.choose(() => "delay");
    expect((await sendWithShortDeadline(run.send)).status).toBe(503);
    expect(loggedError()).toMatchObject({ name: "TimeoutError", call: "s3 DeleteObject" });
    proxies.files.choose(() => undefined);
    expect((await run.send()).status).toBe(200);
  });
});

it.each(sample.map((route) => [route.name, route] as const))(
  "a request whose AWS calls all hang returns 503 before its function times out %s",
  async (_, route) => {
    const run = await repeatableRequest(t, route);
    for (const proxy of Object.values(proxies)) proxy.choose(delayTwoOfThree());
    const startedAt = performance.now();
    const { status, headers } = await sendWithShortDeadline(run.send);
    expect([status, headers.get("retry-after")]).toEqual([503, "2"]);
    expect(performance.now() - startedAt).toBeLessThan(functionTimeoutMs);
    expect(loggedError()).toMatchObject({
      name: "TimeoutError",
      message: "The request's deadline has passed.",
      call: expect.stringMatching(/^dynamodb (GetItem|BatchGetItem|Query)$/),
      // An attempt that breaks before the deadline is repeated.
      attempts: expect.toBeOneOf([1, 2]),
    });
  },
);
