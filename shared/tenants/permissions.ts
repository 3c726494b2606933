import { closestMatch } from "leven";
import { byOperation } from "../route.ts";

/** By resource: the operations that the endpoints require a permission for. A test compares them with the routes. */
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

/** Something of a file that is applied, and is probably a mistake. */
export type Warning = { readonly pointer: string; readonly detail: string };

/** Says of a permission that no endpoint requires which it may be, if it is misspelt and not another service's. */
export const describeUnknown = (permission: string): string =>
  `${permission} is required by no operation: the nearest known permission is ${closestMatch(permission, knownPermissions)}`;
