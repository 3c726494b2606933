import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod/mini";
import { openData } from "../../../infra/local/data.ts";
import { listen } from "../../../infra/local/listen.ts";
import { startBus } from "../../../infra/local/local-bus.ts";
import { startTable } from "../../../infra/local/table.ts";
import { keys } from "../../../shared/table/keys.ts";
import { form, pdf } from "../../support/fixtures/attachments.ts";
import { createdAccounts, Delivery, readEvents } from "../../support/fixtures/local-events.ts";
import { allPermissions } from "../../support/fixtures/tenants.ts";
import { localServices } from "../../support/processes/local-service.ts";
import { sendPlain } from "../../support/requests/plain-request.ts";
import { exhaustive } from "../../support/setup/extent.ts";

/** Each of some tests starts a service several times. */

const services = localServices();
afterAll(() => services.remove());

/** Receives events at a URL. `answers` are the statuses of its first responses. The last one repeats, and null sends none. */
const receiver = async (answers: (number | null)[]) => {
  const posted: Delivery[] = [];
  const authorizations = new Set<string | undefined>();
  const server = createServer(async (request, response) => {
    authorizations.add(request.headers.authorization);
    const event = z.parse(Delivery, await json(request));
    const status = answers.length > 1 ? answers.shift() : answers[0];
    if (status === 204) posted.push(event);
    if (status) response.writeHead(status, { Location: "/elsewhere" }).end();
  });
  const { url, close } = await listen(server);
  return { url: `${url}/hook`, close, posted, answers, authorizations };
};
const hook = await receiver([503, 503, 302, 204]);
afterAll(() => hook.close());
const withPassword = hook.url.replace("//", "//an%20a:s%3Acret@");
const service = await services.start(["--events-to", withPassword, "--verbose"]);

/** The types of the resources that the demo creates. */
const ofDemo = "account account user api_key api_key order order request request request".split(" ");

const patiently = { timeout: 20_000, interval: 50 };

it("$EVENTS has each change as EventBridge delivers it, and --events-to posts each in turn, again after an error", async () => {
  const [id] = await createdAccounts(service, 1);
  await vi.waitUntil(() => hook.posted.some(({ detail }) => detail.resource.id === id), patiently);
  const all = await readEvents(service);
  expect(all.map((event) => event["detail-type"].split(".")[0]).sort()).toEqual([...ofDemo, "account"].sort());
  const last = all.at(-1);
  expect(last).toEqual({
    version: "0",
    id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
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
      resource: { type: "account", id, version: 1 },
    }),
  });
  const { EVENTS = "" } = service.environment;
  const elsewhere = await fetch(EVENTS, { headers: { origin: "http://evil.example" } });
  expect(elsewhere.status).toBe(403);
  expect(service.output.stdout).toContain(`\nevents ${EVENTS}\n`);
  expect(hook.posted).toEqual(all);
  // The output of a process can arrive after its response.
  await vi.waitFor(() => {
    expect(service.output.stdout).toMatch(
      new RegExp(`^event {4}\\S+Z  account\\.created  ${id}  by operator local`, "m"),
    );
    const failures = service.output.stderr.match(/has not accepted account\.created \w{26} \(status \d+\)/g);
    expect(failures?.map((line) => line.slice(-4, -1))).toEqual(["503", "302"]);
  }, patiently);
});

it("$EVENTS filters by type or prefix, continues after an event, and says where there may be a gap", async () => {
  const all = await readEvents(service);
  const [first, last] = [all[0]?.detail.id, all.at(-1)?.detail.id];
  const ofUsers = all.filter((event) => event["detail-type"] === "user.created");
  const table: [query: string, events: Delivery[], gap: boolean][] = [
    ["", all, false],
    ["?after=", all, false],
    [`?after=${first}`, all.slice(1), false],
    [`?after=${last}`, [], false],
    [`?after=${first}&type=user.created`, ofUsers, false],
    ["?type=user.", ofUsers, false],
    ["?type=switch.", [], false],
    ["?after=unknown&type=user.", ofUsers, true],
    ["?after=unknown", all, true],
  ];
  for (const [query, events, gap] of table) {
    const response = await fetch(`${service.environment.EVENTS}${query}`);
    expect([query, await response.json()]).toEqual([query, { events, gap }]);
  }
  for (const type of ["", ".", "user", "user.crea", "user.created.", "nothing.", "*"]) {
    const response = await fetch(`${service.environment.EVENTS}?type=${type}`);
    const source = { in: "query", pointer: "/type" };
    expect([type, response.status, await response.json()]).toMatchObject([type, 400, { errors: [{ source }] }]);
  }
});

it("--events-to sends a user name and a password in its URL as Basic authorization, and prints neither", async () => {
  const { output } = service;
  await vi.waitUntil(() => hook.posted.length >= ofDemo.length, patiently);
  expect([...hook.authorizations]).toEqual([`Basic ${Buffer.from("an a:s:cret").toString("base64")}`]);
  expect(output.stderr).toContain(`${hook.url} has not accepted `);
  expect(output.stdout + output.stderr).not.toMatch(/s(%3A|:)cret|an(%20| )a/);
});

it.runIf(exhaustive)(
  "--events-to posts all events in order, also if its receiver hangs and the service is killed",
  async () => {
    const slow = await receiver([null]);
    onTestFinished(() => slow.close());
    const killed = localServices();
    onTestFinished(() => killed.remove());
    const args = ["--events-to", slow.url, "--data", killed.data];
    const first = await killed.start(args);
    const accounts = await createdAccounts(first, 1_500);
    const isRead = async () => (await readEvents(first)).some(({ detail }) => detail.resource.id === accounts.at(-1));
    await vi.waitUntil(isRead, patiently);
    await first.kill();
    expect(slow.posted).toEqual([]);
    slow.answers[0] = 204;
    const second = await killed.start(args);
    const posted = () => new Set(slow.posted.map(({ detail }) => detail.resource.id));
    await vi.waitUntil(() => new Set(accounts).isSubsetOf(posted()), { ...patiently, timeout: 60_000 });
    const kept = await readEvents(second);
    expect(kept.length).toBe(Math.min(1_000, accounts.length + ofDemo.length));
    expect(slow.posted.slice(-kept.length)).toEqual(kept);
    // No event is posted again after a stop.
    await second.stop();
    const before = slow.posted.length;
    await createdAccounts(await killed.start(args), 1);
    await vi.waitUntil(() => slow.posted.length > before, patiently);
    expect(slow.posted.slice(before).map((event) => event["detail-type"])).toEqual(["account.created"]);
  },
);

it.runIf(exhaustive)(
  "a folder and the logs keep nothing of an erased account once its records in the stream are a day old",
  async () => {
    const own = localServices();
    onTestFinished(() => own.remove());
    const verbosely = ["--data", own.data, "--verbose"];
    const first = await own.start(verbosely);
    const {
      accounts,
      keys: issued,
      requests,
    } = z.parse(
      z.object({
        accounts: z.record(z.string(), z.object({ id: z.string() })),
        keys: z.record(z.string(), z.object({ key: z.string() })),
        requests: z.record(z.string(), z.object({ id: z.string() })),
      }),
      await first.apply({
        accounts: {
          top: { name: "Zebra" },
          below: { name: "Zebra below", parent: "top", features: { ordering_attachment_access: true } },
        },
        users: { own: { account: "below", permissions: allPermissions } },
        orders: { own: { account: "below" } },
        requests: { own: { order: "own", type: "PORT_IN" } },
        keys: { own: { account: "below", user: "own", label: "Zebra key" } },
      }),
    );
    const [top, below] = [accounts.top?.id ?? "", accounts.below?.id ?? ""];
    const authorization = `Bearer ${issued.own?.key}`;
    const attachments = `${first.url}/api/v1/requests/${requests.own?.id}/attachments`;
    const letter = form(
      { "data[name]": "Zebra letter", "data[notes]": "Zebra notes", "data[file_hint]": "LOA" },
      pdf("Zebra.pdf"),
    );
    const uploaded = await fetch(attachments, { method: "POST", headers: { authorization }, body: letter });
    expect(uploaded.status).toBe(201);
    const headers = { authorization, "content-type": "application/json" };
    const body = JSON.stringify({ type: "switch", data: { name: "Zebra switch", sms_secret: "Zebra secret" } });
    for (const status of [201, 422])
      expect((await fetch(`${first.url}/api/v1/switches`, { method: "POST", headers, body })).status).toBe(status);
    expect((await first.admin("account", "rename", below, "Zebra renamed")).code).toBe(0);
    const ofTree = async (service: typeof first) =>
      (await readEvents(service)).flatMap(({ "detail-type": type, detail: { account } }) =>
        account === top || account === below ? [[type, account]] : [],
      );
    await vi.waitUntil(async () => (await ofTree(first)).length === 9, patiently);
    expect((await first.admin("account", "erase", top, "--yes", "Zebra", "--wait", "0")).code).toBe(0);
    await vi.waitFor(async () => expect(await ofTree(first)).toEqual([["account.erased", top]]), patiently);
    await first.stop();
    const file = join(own.data, "table.db");
    const database = new DatabaseSync(file);
    database.exec("UPDATE _stream_records SET created_at = created_at - 86400");
    database.close();
    const second = await own.start(verbosely);
    const contents = readdirSync(own.data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), "latin1")] as const);
    for (const { output } of [first, second]) contents.push(["stdout", output.stdout], ["stderr", output.stderr]);
    expect(contents.filter(([, text]) => text.includes("Zebra")).map(([name]) => name)).toEqual([]);
    expect(contents.map(([name]) => name)).toContain("table.db");
    expect(first.output.stdout).toMatch(/^POST +422 .* \/api\/v1\/switches /m);
    const [id] = await createdAccounts(second, 1);
    await vi.waitFor(async () => expect((await readEvents(second)).at(-1)?.detail.resource.id).toBe(id), patiently);
  },
);

it("a position that cannot be saved is reported, and saved as soon as it can be", async () => {
  openData(services.data).close();
  const file = join(services.data, "events.json");
  mkdirSync(file);
  const started = await services.start();
  const isReported = () => started.output.stderr.includes("cannot be saved yet: Error: EISDIR");
  await vi.waitUntil(async () => (await readEvents(started)).length === ofDemo.length && isReported(), patiently);
  // By then, saving the last change has also failed.
  await sleep(500);
  rmdirSync(file);
  await vi.waitUntil(() => statSync(file, { throwIfNoEntry: false })?.isFile(), patiently);
});

it("an event that cannot be read is printed and stops no other, and an actor of another release is no reason", async () => {
  const { environment, output } = service;
  const database = new DynamoDBClient({ endpoint: environment.AWS_ENDPOINT_URL_DYNAMODB ?? "" });
  const subject = { type: "switch", id: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
  const [readable] = (await readEvents(service)).map(({ detail }) => detail);
  const ofRobot = { type: "switch.moved", resource: { ...subject, version: 1 }, actor: { type: "robot", id: "r2" } };
  for (const event of [
    { id: "e1", type: "unreadable" },
    { ...readable, ...ofRobot, id: "e2" },
  ]) {
    const Item = marshall({ ...keys.event(subject, event.id), ...event });
    await database.send(new PutItemCommand({ TableName: environment.TABLE_NAME ?? "", Item }));
  }
  const [id] = await createdAccounts(service, 1);
  const last = async () => (await readEvents(service)).slice(-2).map(({ detail }) => detail.resource.id);
  await vi.waitFor(async () => expect(await last()).toEqual([subject.id, id]), patiently);
  const line = `UNREADABLE, and skipped: The item SWITCH#${subject.id} EVENT#e1 cannot be read: `;
  await vi.waitFor(() => expect(output.stderr).toContain(line), patiently);
});

it("npm start gives the API reference the demo's key and ids, but not under another host name", async () => {
  const { url, demo } = service;
  const prefilled = async (host: string) => {
    const { body } = await sendPlain(`${url}/docs/openapi.json`, { headers: { host } });
    return [demo.KEY, demo.SUB_ACCOUNT, demo.ORDER, demo.REQUEST].map((value = "?") => body.includes(value));
  };
  expect(await prefilled(new URL(url).host)).toEqual([true, true, true, true]);
  expect(await prefilled("evil.example")).toEqual([false, false, false, false]);
});

it("./patchbay start --verbose prints the request's id", async () => {
  const { headers } = await fetch(`${service.url}/nothing`);
  const line = `/nothing  -  not_found  ${headers.get("x-request-id")}\n`;
  await vi.waitFor(() => expect(service.output.stdout).toContain(line), patiently);
});

it("a table without a stream costs one line, and nothing else; the bus keeps the last 1,000 events", async () => {
  const TABLE_NAME = `without-a-stream-${crypto.randomUUID()}`;
  vi.stubEnv("TABLE_NAME", TABLE_NAME);
  await startTable(TABLE_NAME, { endpoint: process.env.AWS_ENDPOINT_URL_DYNAMODB });
  const warn = vi.fn();
  const events = await startBus({ warn });
  await events.follow();
  expect(warn.mock.calls).toEqual([["The table has no stream, so no event is published."]]);
  const eventsAfter = async (id = "") => (await fetch(`${events.url}?after=${id}`)).json();
  expect(await eventsAfter()).toEqual({ events: [], gap: false });
  const [{ detail } = { detail: {} }] = await readEvents(service);
  const Entries = Array.from({ length: 1_001 }, (_, n) => ({ Detail: JSON.stringify({ ...detail, id: `${n}` }) }));
  await fetch(events.url, { method: "POST", body: JSON.stringify({ Entries }) });
  expect(await eventsAfter("0")).toMatchObject({ events: { length: 1_000, 0: { detail: { id: "1" } } }, gap: true });
  await events.stop();
  vi.unstubAllEnvs();
});
