import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requestPerEndpoint } from "../support/requests/request-per-endpoint.ts";
import { type Cost, type MeasuredService, measuredService } from "../support/servers/measured-service.ts";
import { endpointCosts, expectedRounds, queryRounds } from "./expected.ts";

/** Counts, at a proxy, the AWS calls of one request to each endpoint, and how many of them are sequential. */

let service: MeasuredService;
let costs: Map<string, Cost>;

beforeAll(async () => {
  service = await measuredService();
  const { tenants } = await import("../support/fixtures/tenants.ts");
  const t = await tenants();
  const place = { key: t.key("acme"), request: t.request("acme"), order: t.order("acme"), account: t.account("east") };
  const queries = requestPerEndpoint(service.send, place, [...queryRounds.keys()]);
  costs = await service.measureAll({ ...requestPerEndpoint(service.send, place), ...queries }, expectedRounds);
});
afterAll(() => service.close());

describe("the cost of one request: status, AWS calls, sequential calls, read units, write units", () => {
  it.each(endpointCosts)(
    "%s: status %i, %i AWS calls, %i in a row, %i read units, %i write units",
    (name, status, calls, rounds, readUnits, writeUnits) => {
      const cost = costs.get(name);
      expect({ ...cost, calls: cost?.calls.length }).toEqual({ status, calls, rounds, readUnits, writeUnits });
    },
  );

  it("is stated for every route", () => {
    expect([...costs.keys()].sort()).toEqual([...expectedRounds.keys()].sort());
  });

  it("includes reading both ends of the file of a direct upload", () => {
    const { calls = [] } = costs.get("request-attachments/complete-upload") ?? {};
    expect(calls.filter((call) => call.endsWith("Object"))).toEqual(["GetObject", "GetObject"]);
  });

  it("includes S3 only for creates and deletes of attachments", () => {
    const withFiles = [...costs].filter(([, { calls }]) => calls.some((call) => call.endsWith("Object")));
    expect(withFiles.map(([name]) => name)).toEqual([
      ...["request", "order"].flatMap((kind) =>
        ["create", "delete", "complete-upload"].map((name) => `${kind}-attachments/${name}`),
      ),
    ]);
  });
});

it.each([...queryRounds])("the cost of %s: %i sequential calls more than without the query", (name) => {
  expect(costs.get(name)).toMatchObject({ status: 200, rounds: expectedRounds.get(name), writeUnits: 0 });
});
