import { apply } from "../../shared/apply.ts";
import { upload } from "./attachments.ts";
import { allPermissions } from "./tenants.ts";

/** An order of the test's own with requests of these types, and a key that may do everything to it. */
export const newOrder = async (...types: readonly string[]) => {
  const made = await apply({
    accounts: { acme: { name: "Acme", features: { ordering_attachment_access: true } } },
    users: { ops: { account: "acme", permissions: allPermissions } },
    keys: { ops: { account: "acme", user: "ops" } },
    orders: { order: { account: "acme" } },
    requests: Object.fromEntries(types.map((type, index) => [String(index), { order: "order", type }])),
  });
  const key = made.keys.ops?.key ?? "";
  const id = made.orders.order?.id ?? "";
  const requests = types.map((_, index) => made.requests[String(index)]?.id ?? "");
  const paths = {
    order: `/api/v1/orders/${id}/attachments`,
    request: (index: number) => `/api/v1/requests/${requests[index]}/attachments`,
  };
  return {
    id,
    key,
    requests,
    paths,
    /** Uploads a small file to the order, or to one of its requests; its id. */
    attach: async (to: "order" | number, name = "LOA") => {
      const { id: attachment } = await upload(to === "order" ? paths.order : paths.request(to), key, {
        "data[name]": name,
      });
      return attachment;
    },
  };
};

export type TestOrder = Awaited<ReturnType<typeof newOrder>>;
export const add = "ADD_MESSAGING_NUMBERS";

/** An order whose one request has one attachment; `place` is the two as the carrier's stand-in lists them. */
export const orderWithOne = async () => {
  const order = await newOrder(add);
  const attachment = await order.attach(0);
  return { ...order, attachment, place: `${order.requests[0]} ${attachment}` };
};
