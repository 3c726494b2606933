import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { APIGatewayProxyResult } from "aws-lambda";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { createAttachmentRoutes } from "../../shared/attachments/routes.ts";
import { readForm } from "../../shared/http/form.ts";
import type { Route } from "../../shared/route.ts";
import { routes } from "../../shared/routes.ts";
import { hostileFormCorpus, hostileForms } from "../support/fixtures/hostile-forms.ts";
import { hostileJson, hostileText, hostileTexts } from "../support/fixtures/hostile-texts.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { eventOf, invoke } from "../support/requests/event.ts";
import { parentId, resourceFor } from "../support/requests/repeatable-request.ts";
import { captureLogs } from "../support/servers/captured-logs.ts";
import { proxies } from "../support/servers/own-table.ts";
import { byExtent, sampleOf } from "../support/setup/extent.ts";

/**
 * Sends hostile input. No response is a 5xx or late, memory does not grow, and no header or log line has control characters.
 */

const runs = (most: number) => byExtent({ sample: Math.ceil(most / 80), most: Math.ceil(most / 5), all: most * 10 });
const stride = byExtent({ sample: 59, most: 1, all: 1 });
const maxMs = 20_000;

const t = await tenants();
const resources = new Map<string, string>();
for (const route of routes) resources.set(route.name, await resourceFor(t, route, `fuzzed by ${route.name}`));
// Captures logs only once, since Vitest keeps every spy that it has made.
const logs = captureLogs();
afterAll(() => logs.stop());

const idsOf = (route: Route, id?: string) => {
  const own = { account_id: parentId(t, route), request_id: parentId(t, route), order_id: parentId(t, route) };
  const resource = resources.get(route.name) ?? "";
  const ids = { ...own, attachment_id: resource, upload_id: resource, id: resource };
  return id === undefined ? ids : Object.fromEntries(Object.keys(ids).map((name) => [name, id]));
};

const authorized = () => ({ authorization: `Bearer ${t.key("acme")}` });

const plainHeader = /^[\x20-\x7e]*$/;
const bodyPattern = /"(errors|type|statusCode)"|^\{\}$/;

/** Sends one input and checks the response and the log. */
const expectHandled = async (sendInput: () => Promise<APIGatewayProxyResult>) => {
  const before = logs.written.length;
  const { statusCode, headers = {}, body } = await sendInput();
  expect(statusCode).toBeLessThan(500);
  for (const [name, value] of Object.entries(headers)) expect(String(value), name).toMatch(plainHeader);
  expect(JSON.stringify(JSON.parse(body))).toMatch(bodyPattern);
  proxies.table.arm();
  for (const line of logs.written.slice(before)) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not occur
    expect(line.trimEnd()).not.toMatch(/[\n\r\u0000-\u0008\u202a-\u202e\u2066-\u2069]/);
    expect(Object.keys(JSON.parse(line))).toContain("route");
  }
};

const check = <T>(inputs: fc.Arbitrary<T>, count: number, property: (input: T) => Promise<void>) =>
  fc.assert(fc.asyncProperty(inputs, property), { numRuns: runs(count), timeout: maxMs });

const routesReading = (from: Route["reads"]["from"]) => routes.filter(({ reads }) => reads.from === from);
const oneOf = (from: readonly Route[]) => fc.constantFrom(...from);
const long = { timeout: 900_000 };

describe("hostile multipart bodies", long, () => {
  it("are refused or stored", () =>
    check(fc.tuple(oneOf(routesReading("form")), hostileForms), 4_000, ([route, { contentType, body }]) => {
      const headers = { ...authorized(), "content-type": contentType };
      return expectHandled(() => invoke(route, { ids: idsOf(route), headers, body }));
    }));

  it("from the corpus are refused or stored", async () => {
    for (const [index, { contentType, body }] of sampleOf(hostileFormCorpus, stride).entries()) {
      const route = routesReading("form")[index % routesReading("form").length];
      if (!route) throw new Error("no route takes a form");
      const headers = { ...authorized(), "content-type": contentType };
      await expectHandled(() => invoke(route, { ids: idsOf(route), headers, body }));
    }
  });
});

describe("hostile JSON", long, () => {
  const types = ["switch", "request_attachment", "order_attachment"];
  const documents = fc.tuple(oneOf(routesReading("json")), fc.constantFrom(...types).chain(hostileJson));
  const store = (route: Route, body: string) =>
    expectHandled(() =>
      invoke(route, { ids: idsOf(route), headers: { ...authorized(), "content-type": "application/json" }, body }),
    );

  it("is refused or stored", () => check(documents, 4_000, ([route, body]) => store(route, body)));

  it("cannot change a prototype", async () => {
    const [route] = routesReading("json");
    if (!route) throw new Error("no route takes JSON");
    for (const body of [
      '{"__proto__":{"polluted":1}}',
      '{"type":"switch","data":{"constructor":{"prototype":{"polluted":1}}}}',
    ])
      await store(route, body);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
});

describe("hostile text", long, () => {
  const names = [
    "Authorization",
    "authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "X-Request-Id",
    "Accept",
  ];
  const headerSets = fc.dictionary(fc.oneof(fc.constantFrom(...names), hostileText), hostileText, { maxKeys: 6 });

  it("in headers does not cause a 5xx", () =>
    check(fc.tuple(oneOf(routes), headerSets, fc.boolean()), 600, ([route, headers, known]) =>
      expectHandled(() => invoke(route, { ids: idsOf(route), headers: { ...headers, ...(known && authorized()) } })),
    ));

  it("in queries and cursors does not cause a 5xx", async () => {
    const cursor = fc.oneof(
      hostileText,
      fc.base64String(),
      fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64url")),
    );
    const queries = fc.dictionary(fc.constantFrom("first", "after", "last", "before", "__proto__", "x"), cursor);
    await check(fc.tuple(oneOf(routesReading("query")), queries), 400, ([route, query]) =>
      expectHandled(() => invoke(route, { ids: idsOf(route), headers: authorized(), query })),
    );
  });

  it("in paths does not cause a 5xx", () =>
    check(fc.tuple(oneOf(routes), hostileText), 300, ([route, id]) =>
      expectHandled(() => invoke(route, { ids: idsOf(route, id), headers: authorized() })),
    ));

  it("from the corpus, everywhere at once, does not cause a 5xx", async () => {
    const cases = routes.flatMap((route) => hostileTexts.map((text) => ({ route, text })));
    for (const { route, text } of sampleOf(cases, stride)) {
      const headers = { ...authorized(), "idempotency-key": text, "if-match": text, "content-type": text };
      await expectHandled(() =>
        invoke(route, { ids: idsOf(route, text), headers, query: { after: text }, body: text }),
      );
    }
  });
});

describe("memory", long, () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const used = async () => {
    // Streams and timers release memory over several turns of the event loop.
    for (let turn = 0; turn < 5; turn += 1) {
      await sleep(20);
      collect();
    }
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  };

  it("does not grow with the number of hostile bodies", async () => {
    const route = createAttachmentRoutes.request;
    const samples = fc.sample(hostileForms, byExtent({ sample: 40, most: 300, all: 300 }));
    const pass = async () => {
      for (const { contentType, body } of samples)
        await readForm(eventOf(route, { headers: { "content-type": contentType }, body }), route.reads).catch(() => {});
    };
    await pass();
    await pass();
    const before = await used();
    for (let n = 0; n < runs(4); n += 1) await pass();
    expect((await used()) - before).toBeLessThan(8 * 1024 * 1024);
  });
});
