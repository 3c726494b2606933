import { beforeAll, describe, expect, it } from "vitest";
import { routes } from "../../shared/routes.ts";
import { apply } from "../support/fixtures/apply.ts";
import { seedAttachments, seedSwitches } from "../support/fixtures/seed-items.ts";
import { customer } from "../support/fixtures/tenants.ts";
import { createResource, requestPerEndpoint, requestTo } from "../support/requests/request-per-endpoint.ts";
import { type Cost, type MeasuredService, measuredService } from "../support/servers/measured-service.ts";
import { byExtent, exhaustive, sampleOf } from "../support/setup/extent.ts";
import { expectedRounds, refusedCost } from "./expected.ts";

/** A refused caller causes the same few reads for a large resource as for an id that does not exist. */

const missing = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const attachment = { name: "LOA", notes: "✉".repeat(4_000) };
const endpoints = Array.from({ length: 10 }, (_, index) => `https://example.com/${index}${"x".repeat(2_000)}`);

let service: MeasuredService;
let callers: Readonly<Record<"own" | "above" | "foreign" | "revoked" | "made-up", string>>;
let parents: Readonly<Record<"request" | "order" | "account", string>>;

beforeAll(async () => {
  service = measuredService();
  const { accounts, keys, key, order, requests } = await customer({ levels: 2 });
  const [account = "", request = ""] = [accounts.at(-1), requests[0]];
  const users = { ops: { account, permissions: [] } };
  const created = await apply({ users, keys: { revoked: { account, user: "ops", revoked: true } } });
  callers = {
    own: key,
    above: keys[0] ?? "",
    foreign: (await customer()).key,
    revoked: created.keys.revoked?.key ?? "",
    "made-up": `apik_${"A".repeat(43)}`,
  };
  parents = { request, order, account };
  await seedAttachments({ type: "request", id: request }, 60);
  await seedAttachments({ type: "order", id: order }, 60);
  await seedSwitches([{ id: account, ancestors: accounts.slice(0, -1) }], 60, { sms_endpoints: endpoints });
});

/** The route's own switches belong to whoever calls, so nobody else can name them. */
const all = routes.filter(({ parent, on }) => parent !== null || on !== "collection");
const naming = sampleOf(all, byExtent({ sample: 7, most: 1, all: 1 }));

const costsOf = async (caller: "foreign" | "revoked" | "made-up") => {
  const costs = new Map<string, { existing: Cost | undefined; missing: Cost | undefined }>();
  for (const route of naming) {
    const parent = route.parent ? parents[route.parent] : "";
    const isSwitch = route.resource === "switch";
    const data = isSwitch ? { name: crypto.randomUUID(), sms_endpoints: endpoints } : attachment;
    const resource = await createResource(service.send, route, { key: callers.own, parent, data });
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const to = (target: object) => async () => requestTo(route, { key: callers[caller], headers, ...target });
    const { rounds } = refusedCost(caller, route);
    const known = new Map([
      ["existing", rounds],
      ["missing", rounds],
    ]);
    const requests = {
      existing: to({ parent, resource }),
      missing: to({ parent: route.parent ? missing : "", resource: missing }),
    };
    const measured = await service.measureAll(requests, known);
    costs.set(route.name, { existing: measured.get("existing"), missing: measured.get("missing") });
  }
  return costs;
};

describe.each(["foreign", "revoked", "made-up"] as const)("a request with a %s key", (caller) => {
  it("costs the same reads whatever it names, and never those of a page", async () => {
    const costs = await costsOf(caller);
    expect(costs.size).toBe(naming.length);
    for (const [name, { existing, missing }] of costs) {
      expect(existing, name).toEqual(missing);
      const route = naming.find((one) => one.name === name);
      expect({ [name]: existing }).toMatchObject({ [name]: route && refusedCost(caller, route) });
    }
  });
});

it.runIf(exhaustive)(
  "a key of an account above takes the round trips of a key of the resource's own account",
  async () => {
    const requests = requestPerEndpoint(service.send, { ...parents, key: callers.above });
    for (const [name, { rounds }] of await service.measureAll(requests, expectedRounds))
      expect([name, rounds]).toEqual([name, expectedRounds.get(name)]);
  },
);
