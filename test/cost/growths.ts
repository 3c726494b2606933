import { sixteen } from "../support/requests/request-per-endpoint.ts";
import type { Cost, MeasuredService } from "../support/servers/measured.ts";
import { measuredService } from "../support/servers/measured.ts";

/** Measures each endpoint with little and with much stored around it. */

type Costs = ReadonlyMap<string, Cost>;
type Pair = { readonly few: Costs; readonly many: Costs };

type What =
  | "attachments of a request"
  | "attachments of an order"
  | "switches of an account"
  | "sub-accounts"
  | "levels";

export type Grown = { readonly pairs: Readonly<Record<What, Pair>>; readonly close: () => Promise<void> };

/** Enough to fill a page of 50, with more to follow. */
const few = 60;

const permissions = [
  "ordering_cart_requests:show",
  "ordering_request_attachments:*",
  "ordering_carts:show",
  "ordering_order_attachments:*",
  "messaging_switches:*",
];

/** A customer with a chain of accounts below the first, or with many beside each other below it. */
const customer = async ({ levels = 1, subAccounts = 0 } = {}) => {
  const { apply } = await import("../../shared/tenants/apply.ts");
  const features = { ordering_attachment_access: true };
  const chain = Array.from({ length: levels }, (_, level) => [
    `level${level}`,
    { name: `Level ${level}`, features, ...(level > 0 && { parent: `level${level - 1}` }) },
  ]);
  const beside = Array.from({ length: subAccounts }, (_, n) => [`sub${n}`, { name: `Sub ${n}`, parent: "level0" }]);
  const last = `level${levels - 1}`;
  const made = await apply({
    accounts: Object.fromEntries([...chain, ...beside]),
    users: { ops: { account: "level0", permissions } },
    keys: { ops: { account: last, user: "ops" } },
    orders: { order: { account: last } },
    requests: { request: { order: "order", type: "ADD_MESSAGING_NUMBERS" } },
  });
  const id = (name: string) => made.accounts[name]?.id ?? "";
  const place = {
    key: made.keys.ops?.key ?? "",
    request: made.requests.request?.id ?? "",
    order: made.orders.order?.id ?? "",
    account: id(last),
  };
  const subs = beside.map(([name]) => ({ id: id(String(name)), ancestors: [id("level0")] }));
  return { place, chainIds: chain.map(([name]) => id(String(name))), subs };
};

type Customer = Awaited<ReturnType<typeof customer>>;

const measureAll = async (service: MeasuredService, { place }: Customer, which: RegExp): Promise<Costs> => {
  const costs = new Map<string, Cost>();
  for (const [name, prepare] of Object.entries(sixteen(service, place)))
    if (which.test(name)) costs.set(name, await service.measure(await prepare()));
  return costs;
};

export const growths = async ({ many, subAccounts }: { readonly many: number; readonly subAccounts: number }) => {
  const service = await measuredService();
  const { fillAttachments, fillSwitches } = await import("../support/fixtures/seed-items.ts");

  const attachments = async (type: "request" | "order", count: number) => {
    const one = await customer();
    await fillAttachments({ type, id: one.place[type] }, count);
    return measureAll(service, one, new RegExp(`^${type}-`));
  };
  const switches = async (count: number, shape: { levels?: number; subAccounts?: number } = {}) => {
    const one = await customer(shape);
    const own = { id: one.place.account, ancestors: one.chainIds.slice(0, -1) };
    await fillSwitches(one.subs.length > 0 ? one.subs : [own], count);
    return measureAll(service, one, /^switches/);
  };

  const plain = await switches(few);
  const pairs: Grown["pairs"] = {
    "attachments of a request": {
      few: await attachments("request", few),
      many: await attachments("request", many),
    },
    "attachments of an order": { few: await attachments("order", few), many: await attachments("order", many) },
    "switches of an account": { few: plain, many: await switches(many) },
    "sub-accounts": { few: await switches(few, { subAccounts: 1 }), many: await switches(few, { subAccounts }) },
    levels: { few: plain, many: await switches(few, { levels: 8 }) },
  };
  return { pairs, close: service.close };
};
