import { createServer } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { listen } from "../../../infra/local/listen.ts";
import { form } from "../../support/fixtures/attachments.ts";
import { type LocalService, localServices } from "../../support/processes/local-service.ts";

const services = localServices();
/** A stand-in S3 that has the bucket and fails every other request. */
const failingS3 = createServer((request, response) => {
  request.resume();
  response.writeHead(/^\/patchbay-files\/?$/.test(request.url ?? "") ? 200 : 501).end();
});
const started: Record<string, LocalService> = {};

beforeAll(async () => {
  const { url } = await listen(failingS3);
  const start = async (name: string, args: string[], env: Record<string, string>) => {
    started[name] = await services.start(args, env);
  };
  await Promise.all([
    start("plain", [], {}),
    start("quiet", ["--quiet"], { AWS_ENDPOINT_URL_S3: url }),
    start("verbose", ["--verbose"], { FORCE_COLOR: "1" }),
  ]);
}, 60_000);
afterAll(async () => {
  await services.remove();
  failingS3.close();
});

const serviceOf = (name: string): LocalService => {
  const service = started[name];
  if (!service) throw new Error(`${name} has not started.`);
  return service;
};

const send = async ({ url, demo }: LocalService, path: string, body?: FormData | string) => {
  const type = typeof body === "string" ? { "content-type": "application/json" } : undefined;
  const headers = { authorization: `Bearer ${demo.KEY}`, ...type };
  const response = await fetch(url + path, { method: body ? "POST" : "GET", headers, body: body ?? null });
  return { status: response.status, requestId: response.headers.get("x-request-id") };
};

const upload = (service: LocalService) => send(service, `/api/v1/requests/${service.demo.REQUEST}/attachments`, form());
const badSwitch = '{"type":"switch","data":{"sms_enabled":true,"sms_protocol":"HTTP"}}';

/** The output of a service since it was ready, once it contains everything expected. */
const printed = async (service: LocalService, ...expected: (string | RegExp)[]) => {
  const lines = () => service.output.stdout.split("Stop: Ctrl-C")[1] ?? "";
  await vi.waitFor(() => {
    for (const each of expected) expect(lines()).toMatch(each);
  }, 10_000);
  return lines();
};

it("npm start gives the API reference the demo's key and ids, which no cache stores and no other origin reads", async () => {
  const { url, demo } = serviceOf("quiet");
  const response = await fetch(`${url}/docs/demo.json`, { headers: { "sec-fetch-site": "same-origin" } });
  expect([response.headers.get("cache-control"), response.headers.get("access-control-allow-origin")]).toEqual([
    "no-store",
    null,
  ]);
  const ids = { account_id: demo.SUB_ACCOUNT, order_id: demo.ORDER, request_id: demo.REQUEST };
  expect(await response.json()).toEqual({ key: demo.KEY, ids });
});

describe("the terminal of npm start", () => {
  it("has a line for each request, with its account and its errors", async () => {
    const service = serviceOf("plain");
    await send(service, "/api/v1/switches");
    await send(service, "/api/v1/switches", badSwitch);
    await send(service, "/nothing\u009b?key=secret");
    const lines = await printed(service, "not_found");
    expect(lines).toMatch(/^GET {6}200 +\d+ ms {2}\/api\/v1\/switches {2}acme$/m);
    expect(lines).toMatch(
      /^POST {5}422 +\d+ ms {2}\/api\/v1\/switches {2}acme {2}invalid_parameter body:\/data\/name and 1 more$/m,
    );
    expect(lines).toMatch(/^GET {6}404 +\d+ ms {2}\/nothing\S* {2}acme {2}not_found$/m);
    expect(lines).not.toContain("secret");
  });

  it("has a line for each step of a checkout and each call to the carrier", async () => {
    const service = serviceOf("plain");
    await upload(service);
    await service.admin("order", "checkout", service.demo.ORDER ?? "", "--wait");
    const lines = await printed(service, "checkout/finish");
    expect(lines).toMatch(/^carrier {2}201 {11}PUT \/carts\/\w{26}\/requests\/\w{26}\/attachments\/\w{26}$/m);
    expect(lines).toMatch(/^carrier {2}200 {11}POST \/carts\/\w{26}\/checkout$/m);
    expect(lines).toMatch(/^step +\d+ ms {2}checkout\/seal {2}\w{26} {2}\w+$/m);
  }, 60_000);

  it("has one quiet line for a client that disconnects", async () => {
    const service = serviceOf("plain");
    const errors = service.output.stderr;
    const socket = connect(Number(new URL(service.url).port), "127.0.0.1", () => {
      socket.write("POST /api/v1/switches HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf", () =>
        socket.destroy(),
      );
    });
    const lines = await printed(service, "client disconnected");
    expect(lines).toMatch(/^POST {5}--- +\d+ ms {2}\/api\/v1\/switches {2}- {2}client disconnected$/m);
    expect(service.output.stderr).toBe(errors);
  });

  it("prints for a 5xx the error, its place in this project and the request, and with --quiet nothing else", async () => {
    const service = serviceOf("quiet");
    await send(service, "/api/v1/switches");
    await send(service, "/api/v1/switches", badSwitch);
    const { status, requestId } = await upload(service);
    expect(status).toBeGreaterThanOrEqual(500);
    await vi.waitFor(() => expect(service.output.stderr).toContain(`request ${requestId}`));
    expect(service.output.stderr).toMatch(
      /^ {9}\S+: .*\n {9}at shared\/attachments\/files\.ts:\d+:\d+\n {9}request [\w-]{36}\n$/,
    );
    expect((await printed(service)).trim()).toMatch(/^POST {5}50\d +\d+ ms {2}\S+ {2}acme {2}\w+$/);
  });

  it("has every invalid parameter and the request's id with --verbose", async () => {
    const service = serviceOf("verbose");
    const { requestId } = await send(service, "/api/v1/switches", badSwitch);
    expect(await printed(service, /422/)).toContain(
      `acme  invalid_parameter body:/data/name, invalid_parameter body:/data/sms_endpoints  ${requestId}`,
    );
  });

  it("has colours only if it is a terminal", async () => {
    const controlSequence = String.fromCharCode(27);
    await send(serviceOf("verbose"), "/api/v1/switches");
    expect(await printed(serviceOf("verbose"), /GET/)).toContain(`${controlSequence}[32m200`);
    for (const name of ["plain", "quiet"]) {
      const { stdout, stderr } = serviceOf(name).output;
      expect([name, (stdout + stderr).includes(controlSequence)]).toEqual([name, false]);
    }
  });
});
