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
    dark: { name: "Dark", parent: "acme" },
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
  orders: { acme: { account: "acme" }, dark: { account: "dark" } },
  requests: {
    acme: { order: "acme", type: "ADD_MESSAGING_NUMBERS" },
    second: { order: "acme", type: "ADD_MESSAGING_NUMBERS" },
    dark: { order: "dark", type: "ADD_MESSAGING_NUMBERS" },
  },
};

/** A customer of a test file's own, made by the operators' CLI: the ids by their names, and the keys. */
export const newCustomer = async () => {
  const made = z.parse(Applied, await adminJson(["apply", "-"], JSON.stringify(document)));
  const find = (section: keyof typeof made, name: string) => {
    const found = made[section][name];
    if (!found) throw new Error(`no ${section} ${name} was made`);
    return found;
  };
  return {
    id: (section: keyof typeof made, name: string) => find(section, name).id,
    key: (name: string) => find("keys", name).key ?? "",
    /** The path of the attachments of the request or order of that name. */
    attachments: (kind: "request" | "order", name: string) =>
      `/api/v1/${kind}s/${find(`${kind}s`, name).id}/attachments`,
  };
};

export type Customer = Awaited<ReturnType<typeof newCustomer>>;
