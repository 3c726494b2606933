import type * as z from "zod/mini";
import { createAttachmentBody, immutableAttachmentProperties, updateAttachmentBody } from "./attachments/schema.ts";
import type { Fault } from "./errors.ts";
import { switchFaults } from "./switches/rules.ts";
import { CreateSwitchBody, immutableSwitchProperties, UpdateSwitchBody } from "./switches/schema.ts";
import { PageQuery } from "./table/page-query.ts";

/**
 * THE table: every endpoint of the interface. API Gateway, the functions and their grants, the local gateway,
 * OpenAPI, the permission checks and the tests that hold for every route are derived from it. A new endpoint is one
 * row here and one file, `functions/<name>.ts`. Each row is a constant of its own, so that a function's bundle
 * holds only its own.
 */
export type Route = {
  /** Its file below `functions/`, and the function's name. */
  readonly name: string;
  readonly summary: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** The thing in the path that must be visible to the key. */
  readonly parent: "request" | "order" | "account" | null;
  readonly resource: ResourceType;
  readonly operation: Operation;
  readonly reads: Reads;
  readonly status: 200 | 201;
  /** All that its function may do to the table and to the bucket. */
  readonly access: { readonly table: readonly TableAction[]; readonly files: readonly FileAction[] };
};

export type ResourceType = "request_attachment" | "order_attachment" | "switch";
export type Operation = "index" | "show" | "create" | "update" | "delete";
export type TableAction =
  | "GetItem"
  | "BatchGetItem"
  | "Query"
  | "PutItem"
  | "UpdateItem"
  | "DeleteItem"
  | "ConditionCheckItem";
export type FileAction = "PutObject" | "DeleteObject";

export type Reads<S extends z.core.$ZodType = z.core.$ZodType> =
  | { readonly from: "nothing"; readonly schema?: never }
  | { readonly from: "query"; readonly schema: S }
  | { readonly from: "form"; readonly schema: S }
  /** `immutable`: properties of `data` that may be echoed but not changed; `rules`: faults of the whole, sent over stored. */
  | { readonly from: "json"; readonly schema: S; readonly immutable: readonly string[]; readonly rules?: Rules };

type Rules = (sent: unknown, current: Readonly<Record<string, unknown>> | undefined) => readonly Fault[];

/** The permission of a route's own resource. */
export const ownPermission = ({ resource, operation }: Pick<Route, "resource" | "operation">) =>
  `${ownPermissions[resource]}:${operation}`;

const ownPermissions = {
  request_attachment: "ordering_request_attachments",
  order_attachment: "ordering_order_attachments",
  switch: "messaging_switches",
} as const;

/** The permission that the parent of an attachment asks for, by the state of its order. */
export const parentPermissions = {
  request: { CART: "ordering_cart_requests:show", CHECKED_OUT: "ordering_requests:show" },
  order: { CART: "ordering_carts:show", CHECKED_OUT: "ordering_orders:show" },
} as const;

export const createRequestAttachment = {
  name: "request-attachments/create",
  summary: "Upload a document to a request",
  method: "POST",
  path: "/api/v1/requests/{request_id}/attachments",
  parent: "request",
  resource: "request_attachment",
  operation: "create",
  reads: { from: "form", schema: /* @__PURE__ */ createAttachmentBody("request_attachment") },
  status: 201,
  access: {
    table: ["GetItem", "BatchGetItem", "PutItem", "UpdateItem"],
    files: ["PutObject", "DeleteObject"],
  },
} as const satisfies Route;

export const listRequestAttachments = {
  name: "request-attachments/list",
  summary: "List a request's attachments",
  method: "GET",
  path: "/api/v1/requests/{request_id}/attachments",
  parent: "request",
  resource: "request_attachment",
  operation: "index",
  reads: { from: "query", schema: PageQuery },
  status: 200,
  access: { table: ["GetItem", "BatchGetItem", "Query"], files: [] },
} as const satisfies Route;

export const showRequestAttachment = {
  name: "request-attachments/show",
  summary: "Show a request's attachment",
  method: "GET",
  path: "/api/v1/requests/{request_id}/attachments/{attachment_id}",
  parent: "request",
  resource: "request_attachment",
  operation: "show",
  reads: { from: "nothing" },
  status: 200,
  access: { table: ["GetItem", "BatchGetItem"], files: [] },
} as const satisfies Route;

export const updateRequestAttachment = {
  name: "request-attachments/update",
  summary: "Update a request's attachment",
  method: "PATCH",
  path: "/api/v1/requests/{request_id}/attachments/{attachment_id}",
  parent: "request",
  resource: "request_attachment",
  operation: "update",
  reads: {
    from: "json",
    schema: /* @__PURE__ */ updateAttachmentBody("request_attachment"),
    immutable: immutableAttachmentProperties,
  },
  status: 200,
  access: { table: ["GetItem", "BatchGetItem", "UpdateItem"], files: [] },
} as const satisfies Route;

export const deleteRequestAttachment = {
  name: "request-attachments/delete",
  summary: "Delete a request's attachment",
  method: "DELETE",
  path: "/api/v1/requests/{request_id}/attachments/{attachment_id}",
  parent: "request",
  resource: "request_attachment",
  operation: "delete",
  reads: { from: "nothing" },
  status: 200,
  access: { table: ["GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem"], files: ["DeleteObject"] },
} as const satisfies Route;

export const createOrderAttachment = {
  name: "order-attachments/create",
  summary: "Upload a document to an order",
  method: "POST",
  path: "/api/v1/orders/{order_id}/attachments",
  parent: "order",
  resource: "order_attachment",
  operation: "create",
  reads: { from: "form", schema: /* @__PURE__ */ createAttachmentBody("order_attachment") },
  status: 201,
  access: {
    table: ["GetItem", "BatchGetItem", "PutItem", "UpdateItem"],
    files: ["PutObject", "DeleteObject"],
  },
} as const satisfies Route;

export const listOrderAttachments = {
  name: "order-attachments/list",
  summary: "List an order's attachments",
  method: "GET",
  path: "/api/v1/orders/{order_id}/attachments",
  parent: "order",
  resource: "order_attachment",
  operation: "index",
  reads: { from: "query", schema: PageQuery },
  status: 200,
  access: { table: ["GetItem", "BatchGetItem", "Query"], files: [] },
} as const satisfies Route;

export const showOrderAttachment = {
  name: "order-attachments/show",
  summary: "Show an order's attachment",
  method: "GET",
  path: "/api/v1/orders/{order_id}/attachments/{attachment_id}",
  parent: "order",
  resource: "order_attachment",
  operation: "show",
  reads: { from: "nothing" },
  status: 200,
  access: { table: ["GetItem", "BatchGetItem"], files: [] },
} as const satisfies Route;

export const updateOrderAttachment = {
  name: "order-attachments/update",
  summary: "Update an order's attachment",
  method: "PATCH",
  path: "/api/v1/orders/{order_id}/attachments/{attachment_id}",
  parent: "order",
  resource: "order_attachment",
  operation: "update",
  reads: {
    from: "json",
    schema: /* @__PURE__ */ updateAttachmentBody("order_attachment"),
    immutable: immutableAttachmentProperties,
  },
  status: 200,
  access: { table: ["GetItem", "BatchGetItem", "UpdateItem"], files: [] },
} as const satisfies Route;

export const deleteOrderAttachment = {
  name: "order-attachments/delete",
  summary: "Delete an order's attachment",
  method: "DELETE",
  path: "/api/v1/orders/{order_id}/attachments/{attachment_id}",
  parent: "order",
  resource: "order_attachment",
  operation: "delete",
  reads: { from: "nothing" },
  status: 200,
  access: { table: ["GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem"], files: ["DeleteObject"] },
} as const satisfies Route;

export const createSwitch = {
  name: "switches/create",
  summary: "Create a switch",
  method: "POST",
  path: "/api/v1/switches",
  parent: null,
  resource: "switch",
  operation: "create",
  reads: { from: "json", schema: CreateSwitchBody, immutable: [], rules: switchFaults },
  status: 201,
  access: { table: ["GetItem", "PutItem", "UpdateItem"], files: [] },
} as const satisfies Route;

export const createSwitchUnderAccount = {
  name: "switches/create-under-account",
  summary: "Create a switch under an account",
  method: "POST",
  path: "/api/v1/accounts/{account_id}/switches",
  parent: "account",
  resource: "switch",
  operation: "create",
  reads: { from: "json", schema: CreateSwitchBody, immutable: [], rules: switchFaults },
  status: 201,
  access: { table: ["GetItem", "PutItem", "UpdateItem"], files: [] },
} as const satisfies Route;

export const listSwitches = {
  name: "switches/list",
  summary: "List the switches of the account and its sub-accounts",
  method: "GET",
  path: "/api/v1/switches",
  parent: null,
  resource: "switch",
  operation: "index",
  reads: { from: "query", schema: PageQuery },
  status: 200,
  access: { table: ["GetItem", "BatchGetItem", "Query"], files: [] },
} as const satisfies Route;

export const showSwitch = {
  name: "switches/show",
  summary: "Show a switch",
  method: "GET",
  path: "/api/v1/switches/{id}",
  parent: null,
  resource: "switch",
  operation: "show",
  reads: { from: "nothing" },
  status: 200,
  access: { table: ["GetItem"], files: [] },
} as const satisfies Route;

export const updateSwitch = {
  name: "switches/update",
  summary: "Update a switch",
  method: "PATCH",
  path: "/api/v1/switches/{id}",
  parent: null,
  resource: "switch",
  operation: "update",
  reads: { from: "json", schema: UpdateSwitchBody, immutable: immutableSwitchProperties, rules: switchFaults },
  status: 200,
  access: { table: ["GetItem", "PutItem", "UpdateItem", "DeleteItem"], files: [] },
} as const satisfies Route;

export const deleteSwitch = {
  name: "switches/delete",
  summary: "Delete a switch",
  method: "DELETE",
  path: "/api/v1/switches/{id}",
  parent: null,
  resource: "switch",
  operation: "delete",
  reads: { from: "nothing" },
  status: 200,
  access: { table: ["GetItem", "UpdateItem", "DeleteItem"], files: [] },
} as const satisfies Route;

export const routes: readonly Route[] = [
  createRequestAttachment,
  listRequestAttachments,
  showRequestAttachment,
  updateRequestAttachment,
  deleteRequestAttachment,
  createOrderAttachment,
  listOrderAttachments,
  showOrderAttachment,
  updateOrderAttachment,
  deleteOrderAttachment,
  createSwitch,
  createSwitchUnderAccount,
  listSwitches,
  showSwitch,
  updateSwitch,
  deleteSwitch,
];
