import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import { buffer, json } from "node:stream/consumers";
import { afterAll, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { startEvents } from "../../../infra/local/events.ts";
import { listen } from "../../../infra/local/listen.ts";
import { startTable } from "../../../infra/local/table.ts";
import { createdAccounts, Delivery, readEvents } from "../../support/fixtures/local-events.ts";
import { localServices } from "../../support/processes/local-service.ts";

const services = localServices();
afterAll(() => services.remove());

const posted: Delivery[] = [];
let failures = 2;
const refused = "user.created";
const server = createServer(async (request, response) => {
  const event = z.parse(Delivery, await json(request));
  const fails = event["detail-type"] === refused || failures-- > 0;
  if (!fails) posted.push(event);
  response.writeHead(fails ? 503 : 204).end();
});
const receiver = await listen(server);
afterAll(() => receiver.close());
const service = await services.start(["--events-to", `${receiver.url}/hook`, "--verbose"]);

const patiently = { timeout: 20_000, interval: 50 };

it("$EVENTS has each change as EventBridge delivers it, and --events-to posts each in turn, again after an error", async () => {
  const [id] = await createdAccounts(service, 1);
  await vi.waitUntil(() => posted.some(({ detail }) => detail.resource.id === id), patiently);
  const all = await readEvents(service);
  const demo = "account account user api_key api_key order order request request request".split(" ");
  expect(all.map((event) => event["detail-type"].split(".")[0]).sort()).toEqual([...demo, "account"].sort());
  const [first, last] = [all[0], all.at(-1)];
  expect(last).toEqual({
    version: "0",
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    "detail-type": "account.created",
    source: "patchbay",
    account: "000000000000",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    region: "us-east-1",
    resources: [],
    detail: expect.objectContaining({
      id: expect.stringMatching(/^[0-9A-Z]{26}$/),
      type: "account.created",
      account: id,
      resource: { type: "account", id, version: null },
    }),
  });
  expect(await readEvents(service, `?after=${first?.detail.id}`)).toEqual(all.slice(1));
  expect(await readEvents(service, `?after=${first?.detail.id}&type=user.created`)).toEqual([all[2]]);
  expect(await readEvents(service, `?after=${last?.detail.id}`)).toEqual([]);
  expect(await readEvents(service, "?after=unknown")).toEqual(all);
  const { EVENTS = "" } = service.environment;
  const elsewhere = await fetch(EVENTS, { headers: { origin: "http://evil.example" } });
  expect(elsewhere.status).toBe(403);
  expect(service.output.stdout).toContain(`\nevents ${EVENTS}\n`);
  expect(service.output.stdout).toMatch(new RegExp(`^event {8}account\\.created  ${id}  by operator local`, "m"));
  expect(posted).toEqual(all.filter((event) => event["detail-type"] !== refused));
  expect(service.output.stderr).toMatch(/^user\.created \w{26} was not accepted by http:\S+\/hook: status 503$/m);
});

it("npm start gives the API reference the demo's key and ids, but not under another host name", async () => {
  const { url, demo } = service;
  const prefilled = async (host: string) => {
    const [response]: IncomingMessage[] = await once(
      get(`${url}/docs/openapi.json`, { headers: { host } }),
      "response",
    );
    const text = response ? await buffer(response) : "";
    return [demo.KEY, demo.SUB_ACCOUNT, demo.ORDER, demo.REQUEST].map((value = "?") => text.includes(value));
  };
  expect(await prefilled(new URL(url).host)).toEqual([true, true, true, true]);
  expect(await prefilled("evil.example")).toEqual([false, false, false, false]);
});

it("npm start -- --verbose prints the request's id", async () => {
  const { headers } = await fetch(`${service.url}/nothing`);
  const line = `/nothing  -  not_found  ${headers.get("x-request-id")}\n`;
  await vi.waitFor(() => expect(service.output.stdout).toContain(line), patiently);
});

it("a table without a stream costs one line, and nothing else", async () => {
  const TABLE_NAME = `without-a-stream-${crypto.randomUUID()}`;
  vi.stubEnv("TABLE_NAME", TABLE_NAME);
  await startTable(TABLE_NAME);
  const warn = vi.fn();
  const events = await startEvents({ warn });
  expect(warn.mock.calls).toEqual([["The table has no stream, so no event is published."]]);
  expect(await (await fetch(events.url)).json()).toEqual({ events: [] });
  await events.stop();
  vi.unstubAllEnvs();
});
