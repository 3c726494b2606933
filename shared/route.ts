import type * as z from "zod/mini";
import type { Problem } from "./errors.ts";

/** A function. It has a name, and the export of a file in `functions/` that Lambda invokes. Several functions can share a file. */
export type EntryPoint = {
  readonly name: string;
  readonly file: `functions/${string}.ts`;
  /** It is `handler` unless functions share the file. */
  readonly handler?: string;
};

/**
 * A row of the route table, from which API Gateway, the functions and their permissions, the local gateway, OpenAPI, the permission
 * checks and the tests of every route are derived. The rows are in the `routes.ts` of each domain.
 */
export type Route = EntryPoint & {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** The resource in the path that the API key must have access to. */
  readonly parent: "request" | "order" | "account" | null;
  /** The target of the path below its parent. It is a collection, one resource, or a direct upload. */
  readonly on: "collection" | "item" | "upload";
  readonly resource: ResourceType;
  /** The type of the document that it accepts or returns. It differs from the resource's type only for direct uploads. */
  readonly document: DocumentType;
  readonly operation: Operation;
  readonly permission: string;
  readonly reads: Reads;
  readonly status: 200 | 201;
  /** The actions on the table and the bucket that its function is allowed, in addition to reading items. */
  readonly grants: { readonly table: readonly TableAction[]; readonly files: readonly FileAction[] };
};

type ResourceType = "request_attachment" | "order_attachment" | "switch";
type DocumentType = ResourceType | "upload";
export type Operation = keyof typeof byOperation;
/** `GetItem` includes BatchGetItem. */
export type TableAction = "GetItem" | "Query" | "ConditionCheckItem" | "PutItem" | "UpdateItem" | "DeleteItem";
type FileAction = "PutObject" | "GetObject" | "GetObjectTagging" | "DeleteObject";

type Schema = z.core.$ZodType;
export type QueryReads<S extends Schema = Schema> = { readonly from: "query"; readonly schema: S };
export type PartKind = "text" | "file";
/** `parts` maps the name of each part to its kind. Other parts are ignored. */
export type FormReads<S extends Schema = Schema> = {
  readonly from: "form";
  readonly schema: S;
  readonly parts: Readonly<Record<string, PartKind>>;
};
/** Properties of `data` that may be sent with their current values but not changed. Each has the comparison to use. */
export type Immutable = Readonly<Record<string, (sent: unknown, current: unknown) => boolean>>;
/** `rules` reports problems that concern several properties, after applying the sent properties to the stored ones. */
type JsonReads<S extends Schema = Schema> = {
  readonly from: "json";
  readonly schema: S;
  readonly immutable?: Immutable;
  readonly rules?: (sent: Properties, current: Properties | undefined) => readonly Problem[];
};

/** The properties of a document's `data`. */
export type Properties = Readonly<Record<string, unknown>>;

export type Reads<S extends Schema = Schema> =
  | { readonly from: "nothing"; readonly schema: S }
  | QueryReads<S>
  | FormReads<S>
  | JsonReads<S>;

/** The properties that a row must state. Everything else follows from its operation and its parent. */
export type Row<O extends Operation, R extends Reads> = Pick<Route, "file" | "grants"> & {
  readonly operation: O;
  readonly reads: R;
};

export const byOperation = {
  index: { method: "GET", status: 200, verb: "list", on: "collection" },
  show: { method: "GET", status: 200, verb: "show", on: "item" },
  create: { method: "POST", status: 201, verb: "create", on: "collection" },
  update: { method: "PATCH", status: 200, verb: "update", on: "item" },
  delete: { method: "DELETE", status: 200, verb: "delete", on: "item" },
} as const;

/** The texts and the examples of a route in the OpenAPI document. No function loads them. */
export type Docs = {
  readonly summary: string;
  /** The text is Markdown. */
  readonly description: string;
  /** An example of the request. It is a JSON body, or the parts of a form by name, except its file. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The descriptions of its query parameters, by name. A list of names has a text for each name. */
  readonly query?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly response: unknown;
  /** Other examples of the response, by title. */
  readonly others?: Readonly<Record<string, unknown>>;
  /** Examples of 422 responses, by title. */
  readonly invalid?: Readonly<Record<string, readonly Problem[]>>;
};

export type DocumentedRoute = Route & { readonly docs: Docs };

/** A schema with a name in the OpenAPI document, and a description for each of its properties. */
export type NamedSchema = {
  readonly name: string;
  readonly schema: Schema;
  readonly properties?: Readonly<Record<string, string>>;
  readonly description?: string;
};

/** Everything that a domain contributes to the route table and to the OpenAPI document. */
export type Contract = {
  readonly routes: readonly DocumentedRoute[];
  /** The schemas of its documents and of those that they include, by type. */
  readonly documents: Readonly<Record<string, Schema>>;
  /** The section of the API reference for each type of resource. */
  readonly tags: Readonly<Partial<Record<ResourceType, { readonly name: string; readonly description: string }>>>;
  /** Every object in its documents and request bodies, and enums that several properties share. */
  readonly schemas: readonly NamedSchema[];
};
