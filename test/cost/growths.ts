import type { customer } from "../support/fixtures/tenants.ts";
import { type KeyAndParents, requestPerEndpoint, requestPerQuery } from "../support/requests/request-per-endpoint.ts";
import type { Cost, MeasuredService } from "../support/servers/measured-service.ts";
import { measuredService } from "../support/servers/measured-service.ts";
import { expectedRounds } from "./expected.ts";

/** Measures each endpoint with little and with much data stored. */

type Costs = ReadonlyMap<string, Cost>;
type Pair = { readonly few: Costs; readonly many: Costs };

/** Enough to fill a page of 50 and have a next one. */
const few = 60;

type Customer = Awaited<ReturnType<typeof customer>>;

const placeOf = ({ key, order, requests, accounts }: Customer): KeyAndParents => ({
  key,
  order,
  request: requests[0] ?? "",
  account: accounts.at(-1) ?? "",
});

const measureAll = async (service: MeasuredService, owner: Customer, which: RegExp): Promise<Costs> => {
  const place = placeOf(owner);
  const requests = Object.entries({
    ...requestPerEndpoint(service.send, place),
    ...requestPerQuery(service.send, place),
  });
  return service.measureAll(Object.fromEntries(requests.filter(([name]) => which.test(name))), expectedRounds);
};

/** Returns a function for each kind of growth, which seeds and measures it. */
export const growths = async ({ many, subAccounts }: { readonly many: number; readonly subAccounts: number }) => {
  const service = await measuredService();
  const { seedAttachments, seedSwitches } = await import("../support/fixtures/seed-items.ts");
  const { customer } = await import("../support/fixtures/tenants.ts");

  const attachments = async (type: "request" | "order", count: number) => {
    const one = await customer();
    await seedAttachments({ type, id: placeOf(one)[type] }, count);
    return measureAll(service, one, new RegExp(`^${type}-`));
  };
  const switches = async (count: number, shape: { levels?: number; subAccounts?: number } = {}) => {
    const one = await customer(shape);
    const own = { id: placeOf(one).account, ancestors: one.accounts.slice(0, -1) };
    const below = one.subAccounts.map((id) => ({ id, ancestors: one.accounts }));
    await seedSwitches(below.length > 0 ? below : [own], count);
    return measureAll(service, one, /^switches/);
  };

  const pair = async (few: Promise<Costs>, many: () => Promise<Costs>): Promise<Pair> => ({
    few: await few,
    many: await many(),
  });
  const pairs = {
    "attachments of a request": () => pair(attachments("request", few), () => attachments("request", many)),
    "attachments of an order": () => pair(attachments("order", few), () => attachments("order", many)),
    "switches of an account": () => pair(switches(few), () => switches(many)),
    "sub-accounts": () => pair(switches(few, { subAccounts: 1 }), () => switches(few, { subAccounts })),
    "account levels": () => pair(switches(few), () => switches(few, { levels: 8 })),
  };
  return { pairs, close: service.close };
};
