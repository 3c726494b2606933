import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import middy from "@middy/core";
import type { APIGatewayProxyResult } from "aws-lambda";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readForm } from "../../shared/http/form.ts";
import { readInput, readJson } from "../../shared/http/input.ts";
import type { RequestEvent } from "../../shared/http/request.ts";
import { respond, response } from "../../shared/http/responses.ts";
import { type Route, routes } from "../../shared/routes.ts";
import { formCorpus, forms } from "../support/fixtures/hostile-forms.ts";
import { json, nasty, nastyTexts } from "../support/fixtures/hostile-texts.ts";
import { type Tenants, tenants } from "../support/fixtures/tenants.ts";
import { eventOf, type Input, invoke } from "../support/requests/event.ts";
import { parentId, resourceFor } from "../support/requests/repeatable-request.ts";
import { captureLogs } from "../support/servers/captured-logs.ts";
import { wires } from "../support/servers/own-table.ts";
import { byExtent, everyNth } from "../support/setup/extent.ts";

/**
 * Hostile input: no 5xx, no hang, no growth, nothing of it in headers or unescaped in logs. Bodies go through the
 * reading steps of their routes, of which a tenth, and all the rest, through whole endpoints with their table.
 */

const runs = (most: number) => byExtent({ sample: Math.ceil(most / 40), most, all: most * 10 });
const stride = byExtent({ sample: 29, most: 1, all: 1 });
const slowMs = 20_000;

let t: Tenants;
let logs: ReturnType<typeof captureLogs>;
const resources = new Map<string, string>();
const tried = new Map<string, number>();

beforeAll(async () => {
  t = await tenants();
  for (const route of routes) resources.set(route.name, await resourceFor(t, route, `fuzzed by ${route.name}`));
});
afterAll(() => console.table([...tried].map(([inputs, count]) => ({ inputs, count }))));

/** What a route does with a body before its own lines see it. */
const reader = (route: Route) =>
  middy<RequestEvent, APIGatewayProxyResult>()
    .use(respond(route))
    .handler(async (event) => {
      await readInput(event, route.reads, route.reads.from === "form" ? readForm : readJson, undefined, []);
      return response(event.requestContext.requestId, route.status, { body: {} });
    });

const read = async (route: Route, input: Input): Promise<APIGatewayProxyResult> =>
  reader(route)(eventOf(route, input), contextless);

const contextless = await import("../../infra/local/proxy-event.ts").then(({ lambdaContext }) =>
  lambdaContext("fuzz", "fuzz", 29_000),
);

const idsOf = (route: Route, id?: string) => {
  const own = { account_id: parentId(t, route), request_id: parentId(t, route), order_id: parentId(t, route) };
  const resource = resources.get(route.name) ?? "";
  const ids = { ...own, attachment_id: resource, id: resource };
  return id === undefined ? ids : Object.fromEntries(Object.keys(ids).map((name) => [name, id]));
};

const authorized = () => ({ authorization: `Bearer ${t.key("acme")}` });

const hangs = (): never => {
  throw new Error(`no answer within ${slowMs} ms`);
};

const plainHeader = /^[\x20-\x7e]*$/;
const titles = /"(errors|type|statusCode)"|^\{\}$/;

/** Listens to the log while a suite runs: once, for Vitest keeps every spy that it ever made. */
const listening = () => {
  beforeAll(() => {
    logs = captureLogs();
  });
  afterAll(() => logs.stop());
};

/** One input: what must hold of whatever it is answered. */
const survives = async (kind: string, answering: () => Promise<APIGatewayProxyResult>) => {
  const before = logs.written.length;
  const done = new AbortController();
  try {
    const late = sleep(slowMs, undefined, { signal: done.signal });
    const { statusCode, headers = {}, body } = await Promise.race([answering(), late.then(hangs, () => hangs())]);
    expect(statusCode).toBeLessThan(500);
    for (const [name, value] of Object.entries(headers)) expect(String(value), name).toMatch(plainHeader);
    expect(JSON.stringify(JSON.parse(body))).toMatch(titles);
  } finally {
    done.abort();
    wires.table.arm();
  }
  for (const line of logs.written.slice(before)) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(line.trimEnd()).not.toMatch(/[\n\r\u0000-\u0008\u202a-\u202e\u2066-\u2069]/);
    expect(Object.keys(JSON.parse(line))).toContain("route");
  }
  tried.set(kind, (tried.get(kind) ?? 0) + 1);
};

const check = <T>(inputs: fc.Arbitrary<T>, count: number, holds: (input: T) => Promise<void>) =>
  fc.assert(fc.asyncProperty(inputs, holds), { numRuns: runs(count) });

const taking = (from: Route["reads"]["from"]) => routes.filter(({ reads }) => reads.from === from);
const oneOf = (from: readonly Route[]) => fc.constantFrom(...from);
const long = { timeout: 900_000 };

describe("hostile multipart bodies", long, () => {
  listening();

  it("are refused or read, whatever they are made of", () =>
    check(fc.tuple(oneOf(taking("form")), forms), 4_000, ([route, { contentType, body }]) =>
      survives("forms, read", () => read(route, { headers: { "content-type": contentType }, body })),
    ));

  it("are refused or stored by the whole endpoint", () =>
    check(fc.tuple(oneOf(taking("form")), forms), 300, ([route, { contentType, body }]) => {
      const headers = { ...authorized(), "content-type": contentType };
      return survives("forms, whole endpoint", () => invoke(route, { ids: idsOf(route), headers, body }));
    }));

  it("of the corpus are refused or stored", async () => {
    for (const [index, { contentType, body }] of everyNth(formCorpus, stride).entries()) {
      const route = taking("form")[index % taking("form").length];
      if (!route) throw new Error("no route takes a form");
      const headers = { ...authorized(), "content-type": contentType };
      await survives("forms of the corpus", () => invoke(route, { ids: idsOf(route), headers, body }));
    }
  });
});

describe("hostile JSON", long, () => {
  listening();

  const types = ["switch", "request_attachment", "order_attachment"];
  const documents = fc.tuple(oneOf(taking("json")), fc.constantFrom(...types).chain(json));
  const headers = { "content-type": "application/json" };

  it("is refused or read, whatever is in it", () =>
    check(documents, 4_000, ([route, body]) => survives("JSON, read", () => read(route, { headers, body }))));

  it("is refused or stored by the whole endpoint", () =>
    check(documents, 400, ([route, body]) =>
      survives("JSON, whole endpoint", () =>
        invoke(route, { ids: idsOf(route), headers: { ...headers, ...authorized() }, body }),
      ),
    ));

  it("cannot reach a prototype", async () => {
    const [route] = taking("json");
    if (!route) throw new Error("no route takes JSON");
    for (const body of [
      '{"__proto__":{"polluted":1}}',
      '{"type":"switch","data":{"constructor":{"prototype":{"polluted":1}}}}',
    ])
      await survives("JSON, read", () => read(route, { headers, body }));
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
});

describe("hostile headers, queries and paths", long, () => {
  listening();

  const names = [
    "Authorization",
    "authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "X-Request-Id",
    "Accept",
  ];
  const headerSets = fc.dictionary(fc.oneof(fc.constantFrom(...names), nasty), nasty, { maxKeys: 6 });

  it("in headers answer no worse than 422", () =>
    check(fc.tuple(oneOf(routes), headerSets, fc.boolean()), 600, ([route, headers, known]) =>
      survives("headers", () =>
        invoke(route, { ids: idsOf(route), headers: { ...headers, ...(known && authorized()) } }),
      ),
    ));

  it("in queries and cursors answer no worse than 422", async () => {
    const cursor = fc.oneof(
      nasty,
      fc.base64String(),
      fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64url")),
    );
    const queries = fc.dictionary(fc.constantFrom("first", "after", "last", "before", "__proto__", "x"), cursor);
    await check(fc.tuple(oneOf(taking("query")), queries), 400, ([route, query]) =>
      survives("queries and cursors", () => invoke(route, { ids: idsOf(route), headers: authorized(), query })),
    );
  });

  it("in paths answer 404, or 403 where permitted to know", () =>
    check(fc.tuple(oneOf(routes), nasty), 300, ([route, id]) =>
      survives("ids in paths", () => invoke(route, { ids: idsOf(route, id), headers: authorized() })),
    ));

  it("of the corpus, everywhere at once", async () => {
    const cases = routes.flatMap((route) => nastyTexts.map((text) => ({ route, text })));
    for (const { route, text } of everyNth(cases, stride)) {
      const headers = { ...authorized(), "idempotency-key": text, "if-match": text, "content-type": text };
      await survives("corpus, everywhere", () =>
        invoke(route, { ids: idsOf(route, text), headers, query: { after: text }, body: text }),
      );
    }
  });
});

describe("memory", long, () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const used = async () => {
    // What streams and timers still hold is let go of in turns of the event loop.
    for (let turn = 0; turn < 5; turn += 1) {
      await sleep(20);
      collect();
    }
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  };

  it("does not grow with the number of hostile bodies", async () => {
    const [route] = taking("form");
    if (!route) throw new Error("no route takes a form");
    const samples = fc.sample(forms, byExtent({ sample: 100, most: 300, all: 300 }));
    const pass = async () => {
      for (const { contentType, body } of samples)
        await read(route, { headers: { "content-type": contentType }, body });
      tried.set("forms, for memory", (tried.get("forms, for memory") ?? 0) + samples.length);
    };
    await pass();
    await pass();
    const before = await used();
    for (let n = 0; n < runs(4); n += 1) await pass();
    expect((await used()) - before).toBeLessThan(8 * 1024 * 1024);
  });
});
