import * as z from "zod/mini";
import {
  attachmentListQuery,
  attachmentQuery,
  CreateUploadBody,
  createAttachmentBody,
  createFromUploadBody,
  formParts,
  immutableAttachmentProperties,
  updateAttachmentBody,
} from "./attachments/schema.ts";
import type { Problem } from "./errors.ts";
import { includeOf } from "./schema/fields.ts";
import {
  CreateSwitchBody,
  immutableSwitchProperties,
  SwitchListQuery,
  SwitchQuery,
  switchProblems,
  UpdateSwitchBody,
} from "./switches/schema.ts";

/**
 * The route table: every endpoint of the interface. API Gateway, the functions and their permissions on AWS, the local
 * gateway, OpenAPI, the permission checks and the tests that run for every route are derived from it. A new endpoint is
 * one row here and one file, `functions/<name>.ts`. Each row is a separate constant that a pure function creates, so that
 * a function's bundle contains only its own row.
 */
export type Route = {
  /** Its file below `functions/`, and the function's name. */
  readonly name: string;
  readonly summary: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** The resource in the path that the API key must have access to. */
  readonly parent: ParentOfRoute;
  readonly resource: ResourceType;
  /** The type of the document that it accepts or returns. Differs from the resource's only for direct uploads. */
  readonly document: DocumentType;
  readonly operation: Operation;
  readonly reads: Reads;
  readonly status: 200 | 201;
  /** The actions on the table and the bucket that its function is allowed. */
  readonly access: { readonly table: readonly TableAction[]; readonly files: readonly FileAction[] };
};

type AttachmentParent = "request" | "order";
type ParentOfRoute = AttachmentParent | "account" | null;
export type ResourceType = "request_attachment" | "order_attachment" | "switch";
export type DocumentType = ResourceType | "upload";
export type Operation = "index" | "show" | "create" | "update" | "delete";
export type TableAction = "GetItem" | "BatchGetItem" | "Query" | "PutItem" | "UpdateItem" | "DeleteItem";
export type FileAction = "PutObject" | "GetObject" | "DeleteObject";

type Schema = z.core.$ZodType;
export type QueryReads<S extends Schema = Schema> = { readonly from: "query"; readonly schema: S };
/** `parts`: the names of the form's parts; other parts are ignored. `json`: the schema of a JSON body sent instead of a form. */
type FormReads<S extends Schema = Schema> = {
  readonly from: "form";
  readonly schema: S;
  readonly parts: readonly string[];
  readonly json: S;
};
/** Properties of `data` that may be sent with their current values but not changed, each with the comparison to use. */
export type Immutable = Readonly<Record<string, (sent: unknown, current: unknown) => boolean>>;
/** `rules`: finds problems that concern several properties, in the stored document with the sent properties applied. */
type JsonReads<S extends Schema = Schema> = {
  readonly from: "json";
  readonly schema: S;
  readonly immutable: Immutable;
  readonly rules?: Rules;
};
type Rules = (sent: unknown, current: Readonly<Record<string, unknown>> | undefined) => readonly Problem[];

export type BodyReads<S extends Schema = Schema> = FormReads<S> | JsonReads<S>;
export type Reads<S extends Schema = Schema> =
  | { readonly from: "nothing"; readonly schema: S }
  | QueryReads<S>
  | BodyReads<S>;

/** The schemas of everything that a route reads. */
export type SchemaOf<R extends Reads> = R extends { readonly json: infer J extends Schema }
  ? R["schema"] | J
  : R["schema"];

/** The permission that a route itself requires. */
export const ownPermission = ({ resource, operation }: Pick<Route, "resource" | "operation">) =>
  `${ownPermissions[resource]}:${operation}`;

const ownPermissions = {
  request_attachment: "ordering_request_attachments",
  order_attachment: "ordering_order_attachments",
  switch: "messaging_switches",
} as const;

/** The permission that an attachment's parent requires, by the state of its order. */
export const parentPermissions = {
  request: { CART: "ordering_cart_requests:show", CHECKED_OUT: "ordering_requests:show" },
  order: { CART: "ordering_carts:show", CHECKED_OUT: "ordering_orders:show" },
} as const;

const byOperation = {
  index: { method: "GET", status: 200, file: "list", onItem: false },
  show: { method: "GET", status: 200, file: "show", onItem: true },
  create: { method: "POST", status: 201, file: "create", onItem: false },
  update: { method: "PATCH", status: 200, file: "update", onItem: true },
  delete: { method: "DELETE", status: 200, file: "delete", onItem: true },
} as const;

/** What a row must state. Everything else follows from its operation and its parent. */
type Row<O extends Operation, R extends Reads> = Pick<Route, "summary" | "access"> & {
  readonly operation: O;
  readonly reads: R;
};

/** `/api/v1/<parent>s/{<parent>_id}/attachments`, followed by `/{attachment_id}` for operations on one attachment. */
const attachmentRoute = <P extends AttachmentParent, O extends Operation, R extends Reads>(
  parent: P,
  row: Row<O, R>,
) => {
  const { method, status, file, onItem } = byOperation[row.operation];
  const path = `/api/v1/${parent}s/{${parent}_id}/attachments${onItem ? "/{attachment_id}" : ""}`;
  return {
    ...row,
    name: `${parent}-attachments/${file}`,
    method,
    path,
    parent,
    resource: `${parent}_attachment`,
    document: `${parent}_attachment`,
    status,
  } as const;
};

/** `/api/v1/switches`, below `/accounts/{account_id}` if there is a parent, followed by `/{id}` for operations on one switch. */
const switchRoute = <P extends "account" | null, O extends Operation, R extends Reads>(parent: P, row: Row<O, R>) => {
  const { method, status, file, onItem } = byOperation[row.operation];
  const path = `/api/v1${parent ? "/accounts/{account_id}" : ""}/switches${onItem ? "/{id}" : ""}`;
  const name = `switches/${file}${parent ? "-under-account" : ""}`;
  return { ...row, name, method, path, parent, resource: "switch", document: "switch", status } as const;
};

const nothing = () => ({ from: "nothing", schema: z.undefined() }) as const;

const createAttachment = <P extends AttachmentParent>(parent: P, summary: string) => {
  const schema = createAttachmentBody(`${parent}_attachment` as const);
  const json = createFromUploadBody(`${parent}_attachment` as const);
  return attachmentRoute(parent, {
    summary,
    operation: "create",
    reads: { from: "form", schema, parts: formParts(schema), json },
    access: {
      table: ["GetItem", "BatchGetItem", "PutItem", "UpdateItem"],
      files: ["PutObject", "GetObject", "DeleteObject"],
    },
  });
};

/**
 * `/api/v1/<parent>s/{<parent>_id}/uploads`: the first call of a direct upload. The signed URL grants what the function
 * may do, so it needs PutObject.
 */
const createUpload = <P extends AttachmentParent>(parent: P, summary: string) => {
  const route = attachmentRoute(parent, {
    summary,
    operation: "create",
    reads: { from: "json", schema: CreateUploadBody, immutable: {} },
    access: { table: ["GetItem", "BatchGetItem", "PutItem"], files: ["PutObject"] },
  });
  const path = `/api/v1/${parent}s/{${parent}_id}/uploads` as const;
  return { ...route, name: `${parent}-attachments/create-upload`, path, document: "upload" } as const;
};

const listAttachments = <P extends AttachmentParent, I extends Schema>(parent: P, summary: string, include: I) =>
  attachmentRoute(parent, {
    summary,
    operation: "index",
    reads: { from: "query", schema: attachmentListQuery(include) },
    access: { table: ["GetItem", "BatchGetItem", "Query"], files: [] },
  });

const showAttachment = <P extends AttachmentParent>(parent: P, summary: string, access: Route["access"]["table"]) =>
  attachmentRoute(parent, {
    summary,
    operation: "show",
    reads: { from: "query", schema: attachmentQuery(includeOf("file", "forwarding")) },
    access: { table: access, files: [] },
  });

const updateAttachment = <P extends AttachmentParent>(parent: P, summary: string) =>
  attachmentRoute(parent, {
    summary,
    operation: "update",
    reads: {
      from: "json",
      schema: updateAttachmentBody(`${parent}_attachment` as const),
      immutable: immutableAttachmentProperties,
    },
    access: { table: ["GetItem", "BatchGetItem", "UpdateItem"], files: [] },
  });

const deleteAttachment = <P extends AttachmentParent>(parent: P, summary: string) =>
  attachmentRoute(parent, {
    summary,
    operation: "delete",
    reads: nothing(),
    access: { table: ["GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem"], files: ["DeleteObject"] },
  });

const createSwitchIn = <P extends "account" | null>(parent: P, summary: string) =>
  switchRoute(parent, {
    summary,
    operation: "create",
    reads: { from: "json", schema: CreateSwitchBody, immutable: {}, rules: switchProblems },
    access: { table: ["GetItem", "PutItem", "UpdateItem"], files: [] },
  });

const listSwitchesOf = <P extends "account" | null>(parent: P, summary: string) =>
  switchRoute(parent, {
    summary,
    operation: "index",
    reads: { from: "query", schema: SwitchListQuery },
    access: { table: ["GetItem", "BatchGetItem", "Query"], files: [] },
  });

export const createRequestAttachment = /* @__PURE__ */ createAttachment("request", "Upload a document to a request");
export const listRequestAttachments = /* @__PURE__ */ listAttachments(
  "request",
  "List a request's attachments",
  /* @__PURE__ */ includeOf("file", "forwarding"),
);
export const showRequestAttachment = /* @__PURE__ */ showAttachment("request", "Show a request's attachment", [
  "GetItem",
  "BatchGetItem",
]);
export const updateRequestAttachment = /* @__PURE__ */ updateAttachment("request", "Update a request's attachment");
export const deleteRequestAttachment = /* @__PURE__ */ deleteAttachment("request", "Delete a request's attachment");
export const createRequestUpload = /* @__PURE__ */ createUpload("request", "Prepare a direct upload to a request");

export const createOrderAttachment = /* @__PURE__ */ createAttachment("order", "Upload a document to an order");
export const listOrderAttachments = /* @__PURE__ */ listAttachments(
  "order",
  "List an order's attachments",
  /* @__PURE__ */ includeOf("file"),
);
// `forwarding` is stored by request, so the function queries the order's requests.
export const showOrderAttachment = /* @__PURE__ */ showAttachment("order", "Show an order's attachment", [
  "GetItem",
  "BatchGetItem",
  "Query",
]);
export const updateOrderAttachment = /* @__PURE__ */ updateAttachment("order", "Update an order's attachment");
export const deleteOrderAttachment = /* @__PURE__ */ deleteAttachment("order", "Delete an order's attachment");
export const createOrderUpload = /* @__PURE__ */ createUpload("order", "Prepare a direct upload to an order");

export const createSwitch = /* @__PURE__ */ createSwitchIn(null, "Create a switch");
export const createSwitchUnderAccount = /* @__PURE__ */ createSwitchIn("account", "Create a switch under an account");
export const listSwitches = /* @__PURE__ */ listSwitchesOf(
  null,
  "List the switches of the account and its sub-accounts",
);
export const listSwitchesUnderAccount = /* @__PURE__ */ listSwitchesOf(
  "account",
  "List the switches of an account and its sub-accounts",
);
export const showSwitch = /* @__PURE__ */ switchRoute(null, {
  summary: "Show a switch",
  operation: "show",
  reads: { from: "query", schema: SwitchQuery },
  access: { table: ["GetItem"], files: [] },
});
export const updateSwitch = /* @__PURE__ */ switchRoute(null, {
  summary: "Update a switch",
  operation: "update",
  reads: { from: "json", schema: UpdateSwitchBody, immutable: immutableSwitchProperties, rules: switchProblems },
  access: { table: ["GetItem", "PutItem", "UpdateItem", "DeleteItem"], files: [] },
});
export const deleteSwitch = /* @__PURE__ */ switchRoute(null, {
  summary: "Delete a switch",
  operation: "delete",
  reads: /* @__PURE__ */ nothing(),
  access: { table: ["GetItem", "UpdateItem", "DeleteItem"], files: [] },
});

export const routes: readonly Route[] = [
  createRequestAttachment,
  listRequestAttachments,
  showRequestAttachment,
  updateRequestAttachment,
  deleteRequestAttachment,
  createRequestUpload,
  createOrderAttachment,
  listOrderAttachments,
  showOrderAttachment,
  updateOrderAttachment,
  deleteOrderAttachment,
  createOrderUpload,
  createSwitch,
  createSwitchUnderAccount,
  listSwitches,
  listSwitchesUnderAccount,
  showSwitch,
  updateSwitch,
  deleteSwitch,
];
