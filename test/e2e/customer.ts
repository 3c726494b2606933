import * as z from "zod/mini";
import { allPermissions } from "../support/fixtures/tenants.ts";
import { adminJson } from "../support/processes/admin-cli.ts";

const Made = z.record(z.string(), z.object({ id: z.string(), key: z.optional(z.string()) }));
const Applied = z.object({ accounts: Made, users: Made, keys: Made, orders: Made, requests: Made });

const on = { ordering_attachment_access: true };

const document = {
  accounts: {
    acme: { name: "Acme", features: on },
    east: { name: "East", parent: "acme", features: on },
    other: { name: "Other", features: on },
  },
  users: {
    ops: { account: "acme", permissions: allPermissions },
    guest: { account: "acme", permissions: [] },
    other: { account: "other", permissions: allPermissions },
  },
  keys: {
    acme: { account: "acme", user: "ops" },
    other: { account: "other", user: "other" },
    guest: { account: "acme", user: "guest" },
  },
  orders: { acme: { account: "acme" } },
  requests: {
    acme: { order: "acme", type: "ADD_MESSAGING_NUMBERS" },
    second: { order: "acme", type: "ADD_MESSAGING_NUMBERS" },
  },
};

/** Creates a customer for one test file with the operators' CLI. Returns the customer's ids by name, and the keys. */
export const newCustomer = async () => {
  const created = z.parse(Applied, await adminJson(["apply", "-"], JSON.stringify(document)));
  const find = (section: keyof typeof created, name: string) => {
    const found = created[section][name];
    if (!found) throw new Error(`no ${section} ${name} was created`);
    return found;
  };
  return {
    id: (section: keyof typeof created, name: string) => find(section, name).id,
    key: (name: string) => find("keys", name).key ?? "",
    /** The path of the attachments of the request or order of that name. */
    attachments: (kind: "request" | "order", name: string) =>
      `/api/v1/${kind}s/${find(`${kind}s`, name).id}/attachments`,
  };
};

export type Customer = Awaited<ReturnType<typeof newCustomer>>;
