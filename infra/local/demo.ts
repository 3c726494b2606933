import * as z from "zod/mini";
import { portalPermissions } from "../../shared/tenants/permissions.ts";
import type { Prefill } from "../openapi/reference.ts";

/** A customer with a sub-account, an API key for each, and an order in each state. The printed examples and the tour use `cart`. */
const demoTenants = {
  accounts: {
    acme: { name: "Acme Telecom", features: { ordering_attachment_access: true } },
    east: { name: "Acme East", parent: "acme", features: { ordering_attachment_access: true } },
  },
  users: { operator: { account: "acme", permissions: portalPermissions } },
  keys: { acme: { account: "acme", user: "operator" }, east: { account: "east", user: "operator" } },
  orders: { cart: { account: "acme" }, done: { account: "acme", state: "CHECKED_OUT" } },
  requests: {
    numbers: { order: "cart", type: "ADD_MESSAGING_NUMBERS" },
    eastern: { order: "cart", account: "east", type: "ADD_MESSAGING_NUMBERS" },
    old: { order: "done", type: "ADD_MESSAGING_NUMBERS" },
  },
};

export const Demo = z.object({
  account: z.string(),
  subAccount: z.string(),
  key: z.string(),
  subAccountKey: z.string(),
  order: z.string(),
  request: z.string(),
});
export type Demo = z.infer<typeof Demo>;

export const createDemo = async (): Promise<Demo> => {
  const { apply } = await import("../../shared/tenants/apply.ts");
  const { accounts, keys, orders, requests } = await apply(demoTenants, {
    now: new Date(),
    actor: { type: "operator", id: "local" },
    request_id: null,
  });
  return {
    account: accounts.acme?.id ?? "",
    subAccount: accounts.east?.id ?? "",
    key: keys.acme?.key ?? "",
    subAccountKey: keys.east?.key ?? "",
    order: orders.cart?.id ?? "",
    request: requests.numbers?.id ?? "",
  };
};

/** The values that the API reference fills in. The ids have the names of path parameters. */
export const prefillOf = ({ key, subAccount, order, request }: Demo): Prefill => ({
  key,
  ids: { account_id: subAccount, order_id: order, request_id: request },
});

/** The shell variables of the examples. `patchbay env` prints them. */
export const variablesOf = ({ key, account, subAccount, order, request }: Demo) => ({
  KEY: key,
  ACCOUNT: account,
  SUB_ACCOUNT: subAccount,
  ORDER: order,
  REQUEST: request,
});
