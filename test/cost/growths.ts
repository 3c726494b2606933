import { type Collection, collections } from "../../shared/table/keys.ts";
import { seedAttachments, seedItems, seedSwitches } from "../support/fixtures/seed-items.ts";
import { customer } from "../support/fixtures/tenants.ts";
import { type KeyAndParents, requestPerEndpoint } from "../support/requests/request-per-endpoint.ts";
import { type Cost, type MeasuredService, measuredService } from "../support/servers/measured-service.ts";
import { expectedRounds, queryRounds } from "./expected.ts";

/** Measures each endpoint with little and with much data stored. */

type Costs = ReadonlyMap<string, Cost>;

/** Enough items for a page of 50 and a next one. */
const few = 60;

type Customer = Awaited<ReturnType<typeof customer>>;

const placeOf = ({ key, order, requests, accounts }: Customer): KeyAndParents => ({
  key,
  order,
  request: requests[0] ?? "",
  account: accounts.at(-1) ?? "",
});

const measureAll = (service: MeasuredService, owner: Customer): Promise<Costs> => {
  const place = placeOf(owner);
  const queries = requestPerEndpoint(service.send, place, [...queryRounds.keys()]);
  return service.measureAll({ ...requestPerEndpoint(service.send, place), ...queries }, expectedRounds);
};

/** Measures every endpoint and query with little data. For each kind of growth, returns a function that does so with much data. */
export const growths = async ({ many, subAccounts }: { readonly many: number; readonly subAccounts: number }) => {
  const service = measuredService();

  /** Measures a customer with `count` items in each collection of the table. */
  const measured = async (count: number, shape: { readonly levels?: number; readonly subAccounts: number }) => {
    const one = await customer(shape);
    const { order, request, account } = placeOf(one);
    const others = Math.min(count, 1_000);
    const [ofOrder, ofRequest] = [{ type: "order", id: order } as const, { type: "request", id: request } as const];
    await seedAttachments(ofOrder, count);
    await seedAttachments(ofRequest, count);
    await seedSwitches(
      one.subAccounts.map((id) => ({ id, ancestors: one.accounts })),
      count,
    );
    const subjects = [ofOrder, ofRequest, { type: "account", id: account }];
    const seeded = {
      accountUsers: [collections.accountUsers(account)],
      accountKeys: [collections.accountKeys(account)],
      accountOrders: [collections.accountOrders(account)],
      receipts: [collections.receipts(request)],
      events: subjects.map(collections.events),
      orderRequests: [collections.orderRequests(order)],
      // These were seeded above, or created with the customer.
      attachments: [],
      switches: [],
      accountAndCounts: [],
      childAccounts: [],
      // No endpoint reads these collections.
      openCheckouts: [],
      lateChanges: [],
      lateChangesOf: [],
      downloads: [],
      deletedAttachments: [],
      idempotency: [],
      partition: [],
    } satisfies Record<keyof typeof collections, readonly Collection[]>;
    const rest = { type: "PORT_IN", account };
    for (const [name, lists] of Object.entries(seeded))
      for (const list of lists) await seedItems(list, others, name === "orderRequests" ? rest : {});
    return measureAll(service, one);
  };

  const withLittle = await measured(few, { subAccounts: few });
  const withMuch = {
    "stored data": () => measured(many, { subAccounts }),
    "account levels": () => measured(few, { levels: 7, subAccounts: few }),
  };
  return { withLittle, withMuch };
};
