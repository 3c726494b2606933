import { beforeAll, describe, expect, it } from "vitest";
import { tenants } from "../support/fixtures/tenants.ts";
import {
  type EndpointRequest,
  type KeyAndParents,
  requestPerEndpoint,
} from "../support/requests/request-per-endpoint.ts";
import { type Cost, type MeasuredService, measuredService } from "../support/servers/measured-service.ts";
import { endpointCosts, expectedRounds, queryRounds, textsToChange } from "./expected.ts";

/** Counts, at a proxy, the AWS calls of one request to each endpoint, and how many of them are sequential. */

let service: MeasuredService;
let costs: Map<string, Cost>;
let place: KeyAndParents;

beforeAll(async () => {
  service = measuredService();
  const t = await tenants();
  place = { key: t.key("acme"), request: t.request("acme"), order: t.order("acme"), account: t.account("east") };
  const queries = requestPerEndpoint(service.send, place, [...queryRounds.keys()]);
  costs = await service.measureAll({ ...requestPerEndpoint(service.send, place), ...queries }, expectedRounds);
});

describe("the cost of one request: status, AWS calls, sequential calls, read units, write units", () => {
  it.each(endpointCosts)(
    "%s: status %i, %i AWS calls, %i in a row, %i read units, %i write units",
    (name, status, calls, rounds, readUnits, writeUnits) => {
      const cost = costs.get(name);
      const measured = { ...cost, calls: cost?.calls.length };
      expect(measured, textsToChange).toEqual({ status, calls, rounds, readUnits, writeUnits });
    },
  );

  it("is stated for every route", () => {
    expect([...costs.keys()].sort()).toEqual([...expectedRounds.keys()].sort());
  });
});

it.each([...queryRounds])("the cost of %s: %i sequential calls more than without the query", (name) => {
  expect(costs.get(name), textsToChange).toMatchObject({
    status: 200,
    rounds: expectedRounds.get(name),
    writeUnits: 0,
  });
});

it("an Idempotency-Key adds no sequential call", async () => {
  const withKey = (prepare: () => Promise<EndpointRequest>) => async () => {
    const { init, ...request } = await prepare();
    const headers = { ...Object(init.headers), "idempotency-key": crypto.randomUUID() };
    return { ...request, init: { ...init, headers } };
  };
  const all = Object.entries(requestPerEndpoint(service.send, place)).map(([name, one]) => [name, withKey(one)]);
  for (const [name, { rounds }] of await service.measureAll(Object.fromEntries(all), expectedRounds))
    expect(rounds, name).toBe(expectedRounds.get(name));
});
