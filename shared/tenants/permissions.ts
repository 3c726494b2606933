import { closestMatch } from "leven";
import { byOperation } from "../route.ts";

/** The operations that require a permission, by resource. A test compares them with the routes. */
const operations = {
  ordering_request_attachments: Object.keys(byOperation),
  ordering_order_attachments: Object.keys(byOperation),
  messaging_switches: Object.keys(byOperation),
  ordering_cart_requests: ["show"],
  ordering_requests: ["show"],
  ordering_carts: ["show"],
  ordering_orders: ["show"],
} as const;

export const knownPermissions: readonly string[] = Object.entries(operations)
  .flatMap(([resource, names]) => ["*", ...names].map((operation) => `${resource}:${operation}`))
  .sort();

/** What a customer's portal needs: every operation on attachments and switches, in every state of an order. */
export const portalPermissions: readonly string[] = Object.entries(operations).map(
  ([resource, names]) => `${resource}:${names.length > 1 ? "*" : names[0]}`,
);

/** A probable mistake in a file, which is applied nevertheless. */
export type Warning = { readonly pointer: string; readonly detail: string };

const longest = Math.max(...knownPermissions.map(({ length }) => length));

/** Suggests a known permission for one that no endpoint requires. That one may be misspelt, or another service's. */
export const describeUnknown = (permission: string): string => {
  // The time grows with the length, so only the beginning of a long permission is compared.
  const nearest = closestMatch(permission.slice(0, longest), knownPermissions);
  return `${permission} is not required by any operation: the nearest known permission is ${nearest}`;
};
