import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { json } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { listen } from "../../../infra/local/listen.ts";
import { startTable } from "../../../infra/local/table.ts";
import { type LocalService, localServices } from "../../support/processes/local-service.ts";

let services: ReturnType<typeof localServices>;
beforeEach(() => {
  services = localServices();
});
afterEach(() => services.remove());

const Delivery = z.looseObject({
  "detail-type": z.string(),
  detail: z.looseObject({
    id: z.string(),
    resource: z.looseObject({ id: z.string(), version: z.nullable(z.number()) }),
  }),
});
type Delivery = z.infer<typeof Delivery>;

const read = async ({ environment }: LocalService, query = ""): Promise<Delivery[]> => {
  const response = await fetch(`${environment.EVENTS}${query}`);
  return z.parse(z.object({ events: z.array(Delivery) }), await response.json()).events;
};

/** Creates accounts, and returns their ids. */
const create = async (service: LocalService, count: number): Promise<string[]> => {
  const names = Array.from({ length: count }, (_, index) => [`account${index}`, { name: `Account ${index}` }] as const);
  const file = join(services.state, "../accounts.json");
  writeFileSync(file, JSON.stringify({ accounts: Object.fromEntries(names) }));
  const { stdout } = await service.admin("apply", file, "--json");
  const { accounts } = z.parse(Applied, JSON.parse(stdout));
  return Object.values(accounts).map(({ id }) => id);
};

const Applied = z.object({ accounts: z.record(z.string(), z.object({ id: z.string() })) });

const accountsIn = (events: readonly Delivery[]) =>
  events.filter((event) => event["detail-type"] === "account.created").map(({ detail }) => detail.resource.id);

const patiently = { timeout: 20_000, interval: 50 };

describe("$EVENTS", () => {
  it("has each change as EventBridge delivers it, the demo's first, and continues after an event", async () => {
    const service = await services.start([]);
    const [id] = await create(service, 1);
    const all = await vi.waitUntil(async () => {
      const events = await read(service);
      return accountsIn(events).length > 2 && events;
    }, patiently);
    const demo = [
      "account",
      "account",
      "user",
      "api_key",
      "api_key",
      "order",
      "order",
      "request",
      "request",
      "request",
    ];
    expect(all.map((event) => event["detail-type"].split(".")[0]).sort()).toEqual([...demo, "account"].sort());
    const last = all.at(-1);
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
    const [first] = all;
    expect(await read(service, `?after=${first?.detail.id}`)).toEqual(all.slice(1));
    expect(await read(service, `?after=${first?.detail.id}&type=user.created`)).toEqual([all[2]]);
    expect(await read(service, `?after=${last?.detail.id}`)).toEqual([]);
    expect(await read(service, "?after=unknown")).toEqual(all);
    expect(service.output.stdout).toContain(`\nevents ${service.environment.EVENTS}\n`);
    expect(service.output.stdout).toMatch(new RegExp(`^event {8}account\\.created  ${id}  by operator local`, "m"));
    expect((await fetch(service.environment.EVENTS ?? "", { headers: { origin: "http://evil.example" } })).status).toBe(
      403,
    );
  }, 60_000);

  it("with --data loses no event over kill -9, and gives the same ones again after a restart", async () => {
    let service = await services.start();
    const created = await create(service, 30);
    await service.kill();
    service = await services.start();
    const seen = await vi.waitUntil(async () => {
      const ids = accountsIn(await read(service)).filter((id) => created.includes(id));
      return ids.length >= 30 && ids;
    }, patiently);
    expect([...new Set(seen)].sort()).toEqual([...created].sort());
    const before = await read(service);
    await service.kill();
    // What dynoxide asks for each new record does not read all others.
    const database = new DatabaseSync(join(services.data, "table.db"), { readOnly: true });
    const query = "SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = 'patchbay'";
    expect(database.prepare(`EXPLAIN QUERY PLAN ${query}`).all()).toMatchObject([
      { detail: expect.stringContaining("USING COVERING INDEX") },
    ]);
    database.close();
    service = await services.start();
    const [last] = await create(service, 1);
    const after = await vi.waitUntil(async () => {
      const events = await read(service, `?after=${before.at(-1)?.detail.id}`);
      return events.length > 0 && events;
    }, patiently);
    expect(accountsIn(after)).toEqual([last]);
    expect((await read(service)).slice(0, before.length)).toEqual(before);
  }, 90_000);
});

describe("a table without a stream", () => {
  it("costs one line, and nothing else", async () => {
    const table = await startTable("patchbay");
    const service = await services.start([], { AWS_ENDPOINT_URL_DYNAMODB: table.door });
    expect(service.output.stderr).toBe("The table has no stream, so no event is published.\n");
    expect((await service.admin("order", "show", service.demo.ORDER ?? "")).code).toBe(0);
    expect(await read(service)).toEqual([]);
    await service.stop();
    await table.stop();
  }, 60_000);
});

describe("--events-to", () => {
  it("posts each event in turn, tries again after an error, and says which were not accepted", async () => {
    const posted: Delivery[] = [];
    let failures = 2;
    const refused = "order.created";
    const server = createServer(async (request, response) => {
      const event = z.parse(Delivery, await json(request));
      const fails = event["detail-type"] === refused || failures-- > 0;
      if (!fails) posted.push(event);
      response.writeHead(fails ? 503 : 204).end();
    });
    const receiver = await listen(server);
    const service = await services.start(["--events-to", `${receiver.url}/hook`]);
    await vi.waitUntil(() => posted.some((event) => event["detail-type"] === "request.created"), patiently);
    const kept = await vi.waitUntil(async () => {
      const events = await read(service);
      return posted.length === events.length - 2 && events;
    }, patiently);
    expect(posted).toEqual(kept.filter((event) => event["detail-type"] !== refused));
    expect(service.output.stderr).toMatch(/^order\.created \w{26} was not accepted by http:\S+\/hook: status 503$/m);
    await receiver.close();
  }, 60_000);
});
