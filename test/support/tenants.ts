import { apply } from "../../shared/apply.ts";

export const allPermissions = [
  "ordering_cart_requests:show",
  "ordering_requests:show",
  "ordering_request_attachments:*",
  "ordering_carts:show",
  "ordering_orders:show",
  "ordering_order_attachments:*",
  "messaging_switches:*",
];

const on = { ordering_attachment_access: true };

/** The two kinds of parents of attachments: what holds for one holds for the other. */
export const kinds = ["request", "order"] as const;
export type Kind = (typeof kinds)[number];

/** A tenant of its own for one test file: account acme with its sub-account east, another root account, and orders in both states. */
export const tenants = async () => {
  const made = await apply({
    accounts: {
      acme: { name: "Acme", features: on },
      east: { name: "East", parent: "acme", features: on },
      dark: { name: "Dark", parent: "acme" },
      other: { name: "Other", features: on },
    },
    users: { ops: { account: "acme", permissions: allPermissions } },
    keys: {
      acme: { account: "acme", user: "ops" },
      east: { account: "east", user: "ops" },
      other: { account: "other", user: "ops" },
    },
    orders: {
      acme: { account: "acme" },
      sibling: { account: "acme" },
      east: { account: "east" },
      dark: { account: "dark" },
      done: { account: "acme", state: "CHECKED_OUT" },
    },
    requests: {
      acme: { order: "acme", type: "ADD_MESSAGING_NUMBERS" },
      sibling: { order: "acme", type: "ADD_MESSAGING_NUMBERS" },
      east: { order: "acme", account: "east", type: "ADD_MESSAGING_NUMBERS" },
      dark: { order: "acme", account: "dark", type: "ADD_MESSAGING_NUMBERS" },
      done: { order: "done", type: "PORT_IN" },
    },
  });
  const id = (section: Readonly<Record<string, { readonly id: string }>>, name: string) => {
    const found = section[name];
    if (!found) throw new Error(`no ${name} was made`);
    return found.id;
  };
  return {
    account: (name: string) => id(made.accounts, name),
    request: (name: string) => id(made.requests, name),
    order: (name: string) => id(made.orders, name),
    /** The path of the attachments of the request or the order of that name. */
    attachments: (kind: Kind, name: string) =>
      `/api/v1/${kind}s/${id(kind === "request" ? made.requests : made.orders, name)}/attachments`,
    key: (name: string): string => made.keys[name]?.key ?? "",
  };
};
