import { afterEach, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod/mini";
import { handler as sweep } from "../../functions/sweep-orphan-files.ts";
import { startLambda } from "../../infra/local/lambda.ts";
import { Event } from "../../shared/history/event.ts";
import type { Route } from "../../shared/route.ts";
import { routes } from "../../shared/routes.ts";
import { scan } from "../../shared/table/read.ts";
import type { FaultKind } from "../support/fault-proxy/proxy.ts";
import { replaceTimeouts } from "../support/fault-proxy/timeouts.ts";
import { form, pdf } from "../support/fixtures/attachments.ts";
import { newOrder } from "../support/fixtures/orders.ts";
import { addMessagingNumbers, tenants } from "../support/fixtures/tenants.ts";
import { declaredFile, newContent } from "../support/fixtures/upload-content.ts";
import { admin } from "../support/requests/admin.ts";
import { call, fetchFromService, type ReceivedResponse, send } from "../support/requests/client.ts";
import { parentId } from "../support/requests/repeatable-request.ts";
import { createResource, requestTo } from "../support/requests/request-per-endpoint.ts";
import { captureLogs } from "../support/servers/captured-logs.ts";
import { carrier } from "../support/servers/carrier.ts";
import { proxies } from "../support/servers/own-table.ts";
import { checkOut } from "../support/servers/workflow.ts";
import { byExtent, sampleOf } from "../support/setup/extent.ts";

/** Plants markers wherever a caller may write, and looks for them in logs, errors, metrics and workflow states. */

const planted = {
  file: "planted-content-7f3a",
  smsSecret: "planted-sms-secret-91c2",
  mmsSecret: "planted-mms-secret-0b4d",
  notes: "planted-notes-55e8",
};

const t = await tenants();
let timeoutMs = 5_000;
beforeAll(() => void replaceTimeouts(() => timeoutMs));
afterEach(() => [proxies.table.arm(), proxies.files.arm()]);

/** Texts that only a carrier or its adapter may see. Whoever has a signed URL can read or write the file. */
const ofCarrier = ["carrier-token", "X-Amz-Signature"];

const markers = () => [...Object.values(planted), t.key("acme"), t.key("other"), "apik_", ...ofCarrier];

/** A stack trace may name the file carrier-token.ts. */
const foundMarkers = (texts: readonly string[]) => {
  const searched = texts.map((text) => text.replaceAll("carrier-token.ts", ""));
  return markers().filter((marker) => searched.some((text) => text.includes(marker)));
};

const secrets = { sms_secret: planted.smsSecret, mms_secret: planted.mmsSecret };
let sent = 0;

/** The data of a route's body, with markers wherever a caller may write. */
const dataOf = ({ resource, document }: Route, name: string) => {
  if (document === "upload") return { ...declaredFile(newContent()), filename: `${planted.notes}.pdf` };
  return resource === "switch" ? { name, ...secrets } : { name, notes: planted.notes };
};

const options = (route: Route, key = t.key("acme")) => {
  sent += 1;
  return {
    key,
    parent: parentId(t, route),
    headers: { "idempotency-key": `planted-${sent}` },
    data: dataOf(route, `planted ${sent}`),
    file: pdf("loa.pdf", planted.file),
  };
};

/** A resource with everything planted in it. */
const plant = (route: Route) => createResource(fetchFromService, route, options(route));

const sendTo = (route: Route, resource: string, key?: string): Promise<ReceivedResponse> =>
  send(requestTo(route, { ...options(route, key), resource }));

const testedFaults: readonly FaultKind[] = ["status-500", "lose-response", "cut", "delay"];

/** `npm test` takes every third route, and one kind of fault for each, in turns. */
const stride = byExtent({ sample: testedFaults.length, most: 1, all: 1 });
const numbered = routes.map((route, index) => [route.name, route, index] as const);

it.each(sampleOf(numbered, byExtent({ sample: 3, most: 1, all: 1 })))(
  "%s leaks no secret under any fault",
  async (_, route, index) => {
    const kinds = testedFaults.filter((_, nth) => (nth + index) % stride === 0);
    const resource = await plant(route);
    const target = () => (route.method === "DELETE" || route.on === "upload" ? plant(route) : resource);
    const logs = captureLogs();
    onTestFinished(logs.stop);
    const responses: ReceivedResponse[] = [];
    for (const kind of kinds)
      for (const [proxy, operation] of [
        [proxies.table, /GetItem/],
        [proxies.table, /Query|TransactWriteItems|UpdateItem/],
        [proxies.files, /Object/],
      ] as const) {
        const targetId = await target();
        proxy.arm({ kind, operation, times: 99 });
        // On a busy machine, other late calls may time out as well.
        if (kind === "delay") timeoutMs = 50;
        responses.push(await sendTo(route, targetId));
        timeoutMs = 5_000;
        proxy.arm();
      }
    for (const key of [t.key("other"), "apik_planted"]) responses.push(await sendTo(route, resource, key));
    expect((await sendTo(route, await target())).status).toBe(route.status);
    const errors = responses.filter(({ status }) => status >= 400).map(({ text }) => text);
    expect(logs.written.length).toBeGreaterThan(responses.length);
    expect(errors.length).toBeGreaterThanOrEqual(2 + kinds.length);
    expect([foundMarkers(logs.written), foundMarkers(errors)]).toEqual([[], []]);
  },
);

it.each(["carrier", "adapter"])(
  "a checkout (%s) leaks no secret in its state or logs, whether it succeeds or fails",
  async (way) => {
    const upstream = await carrier();
    const seen: string[] = [];
    let answer: object = { status: 200, body: { checked_out: true } };
    const adapter = async (call: unknown) => {
      seen.push(JSON.stringify(call));
      return answer;
    };
    const lambda = await startLambda(new Map([["adapter", adapter]]));
    vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", lambda.url).stubEnv("CARRIER_FUNCTION", way === "adapter" ? "adapter" : "");
    const logs = captureLogs();
    onTestFinished(async () => {
      logs.stop();
      vi.unstubAllEnvs();
      await Promise.all([upstream.close(), lambda.close()]);
    });
    const states: string[] = [];
    for (const status of ["SUCCEEDED", "FAILED"]) {
      const order = await newOrder(addMessagingNumbers);
      expect(order.key).toMatch(/^apik_/);
      const body = form({ "data[notes]": planted.notes }, pdf("loa.pdf", planted.file));
      await call("POST", order.paths.request(0), { key: order.key, body });
      if (status === "FAILED") {
        answer = { status: 422 };
        await upstream.misbehave({ method: "PUT", action: "status", status: 422, times: 99 });
      }
      const ended = await checkOut(order.id);
      expect(ended.status).toBe(status);
      states.push(JSON.stringify(ended));
    }
    expect([foundMarkers(states), foundMarkers(logs.written)]).toEqual([[], []]);
    if (way === "adapter") expect(foundMarkers(seen)).toEqual([planted.notes, ...ofCarrier]);
  },
);

it("the sweep's metrics and the operators' commands leak no secret", async () => {
  const logs = captureLogs();
  await sweep({}, { functionName: "sweep", getRemainingTimeInMillis: () => 60_000 }).finally(logs.stop);
  const outputs: string[] = [];
  for (const args of [["check"], ["sweep"], ["account", "list"], ["key", "list"]]) {
    const { code, stdout, stderr } = await admin(args);
    expect([args, code]).toEqual([args, 0]);
    outputs.push(stdout, stderr);
  }
  expect(foundMarkers([...logs.written, ...outputs])).toEqual([]);
});

it("published events have no secret and no other text of a caller, and stored ones only names and what the carrier was sent", async () => {
  const items = (await Array.fromAsync(scan())).filter(({ sk }) => String(sk).startsWith("EVENT#"));
  const texts = [
    ...items.map((item) => z.parse(Event, item)),
    // The history prints what a switch was called.
    ...items.filter(({ filename }) => filename === undefined).map(({ name: _, ...event }) => event),
  ];
  const found = texts.map((event) => JSON.stringify(event)).filter((text) => /planted|loa\.pdf|apik_/.test(text));
  expect([items.length > 10, found]).toEqual([true, []]);
  const evidence = items.filter(({ filename }) => filename !== undefined).map(({ type }) => String(type).split(".")[1]);
  expect([...new Set(evidence)].sort()).toEqual(["forwarded", "refused"]);
});

it("the search finds a planted marker", () => {
  expect(foundMarkers([`x ${planted.file} y`])).toEqual([planted.file]);
});
