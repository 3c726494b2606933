import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requestPerEndpoint, requestPerQuery } from "../support/requests/request-per-endpoint.ts";
import { type Cost, type MeasuredService, measuredService } from "../support/servers/measured.ts";

/** The AWS calls of one request of each endpoint, and how many of them had to wait for another: counted on the wire. */

let service: MeasuredService;
let costs: Map<string, Cost>;
let queries: Map<string, Cost>;

beforeAll(async () => {
  service = await measuredService();
  const { tenants } = await import("../support/fixtures/tenants.ts");
  const t = await tenants();
  const place = { key: t.key("acme"), request: t.request("acme"), order: t.order("acme"), account: t.account("east") };
  costs = await service.measureAll(requestPerEndpoint(service.send, place));
  queries = await service.measureAll(requestPerQuery(service.send, place));
}, 60_000);
afterAll(() => service.close());

describe("what one request costs: status, sequential calls, read units, write units", () => {
  it.each([
    ["request-attachments/create", 201, 4, 5, 6],
    ["request-attachments/list", 200, 2, 6, 0],
    ["request-attachments/show", 200, 2, 6, 0],
    ["request-attachments/update", 200, 3, 6, 4],
    ["request-attachments/delete", 200, 4, 7, 6],
    ["request-attachments/create-upload", 201, 3, 5, 2],
    ["order-attachments/create-upload", 201, 3, 4, 2],
    ["request-attachments/create from an upload", 201, 4, 6, 8],
    ["order-attachments/create from an upload", 201, 4, 5, 8],
    ["order-attachments/create", 201, 4, 4, 6],
    ["order-attachments/list", 200, 2, 5, 0],
    ["order-attachments/show", 200, 2, 5, 0],
    ["order-attachments/update", 200, 3, 5, 4],
    ["order-attachments/delete", 200, 4, 6, 6],
    ["switches/create", 201, 3, 3, 8],
    ["switches/create-under-account", 201, 3, 3, 12],
    ["switches/list", 200, 3, 6, 0],
    ["switches/list-under-account", 200, 3, 5, 0],
    ["switches/show", 200, 2, 3, 0],
    ["switches/update", 200, 3, 3, 1],
    ["switches/delete", 200, 3, 3, 8],
  ])("%s: %i, %i in a row, %i and %i", (name, status, rounds, readUnits, writeUnits) => {
    expect(costs.get(name)).toEqual({ status, rounds, readUnits, writeUnits, calls: expect.any(Array) });
  });

  it("covers every route", async () => {
    const { routes } = await import("../../shared/routes.ts");
    const names = [...costs.keys()].filter((name) => !name.endsWith(" from an upload"));
    expect(names.sort()).toEqual(routes.map(({ name }) => name).sort());
  });

  it("looks at both ends of the file of a direct upload beside the record of it", () => {
    const { calls = [] } = costs.get("request-attachments/create from an upload") ?? {};
    expect(calls.filter((call) => call.endsWith("Object"))).toEqual(["GetObject", "GetObject"]);
  });

  it("needs S3 for creates and deletes of attachments only", () => {
    const withFiles = [...costs].filter(([, { calls }]) => calls.some((call) => call.endsWith("Object")));
    expect(withFiles.map(([name]) => name)).toEqual([
      ...["request", "order"].flatMap((kind) => [`${kind}-attachments/create`, `${kind}-attachments/delete`]),
      ...["request", "order"].map((kind) => `${kind}-attachments/create from an upload`),
    ]);
  });
});

describe("what a query costs beside that: sequential calls", () => {
  it.each([
    ["request-attachments/list?include=file", 0],
    ["request-attachments/list?include=file,forwarding", 1],
    ["request-attachments/list?reference_id=", 0],
    ["request-attachments/show?include=file", 0],
    ["request-attachments/show?include=file,forwarding", 1],
    ["order-attachments/list?include=file", 0],
    ["order-attachments/list?reference_id=", 0],
    ["order-attachments/show?include=file,forwarding", 2],
    ["switches/list?include=account", 1],
    ["switches/list-under-account?include=account", 1],
    ["switches/show?include=account", 1],
  ])("%s: %i", (name, more) => {
    const plain = costs.get(name.replace(/\?.*/, ""))?.rounds ?? 0;
    expect(queries.get(name)).toMatchObject({ status: 200, rounds: plain + more, writeUnits: 0 });
  });

  it("is tried with every query", () => {
    expect(queries.size).toBe(11);
  });
});
