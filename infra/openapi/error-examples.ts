import * as z from "zod/mini";
import { parentPermissions } from "../../shared/attachments/routes.ts";
import * as errors from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";
import type { DocumentedRoute, NamedSchema, Route } from "../../shared/route.ts";
import { check } from "../../shared/schema/check.ts";
import { ids, named } from "../../shared/schema/documents.ts";

/** Errors by the titles of their examples. */
type ErrorExamples = Readonly<Record<string, errors.ApiError>>;

const accessErrors = ({ parent, permission }: Route): ErrorExamples => {
  const own = {
    "The operation's permission is missing": errors.permissionMissing(permission),
    "A firewall blocks the request": errors.blockedByFirewall(),
  };
  if (parent !== "request" && parent !== "order") return own;
  return {
    "The feature is disabled": errors.attachmentsDisabled(ids.account),
    "The parent's permission is missing": errors.permissionMissing(parentPermissions[parent].CART),
    ...own,
  };
};

const notFoundErrors = ({ parent, on, resource }: Route): ErrorExamples => {
  const missing = (type: string, id: string) => ({
    [`The ${type.replaceAll("_", " ")} does not exist`]: errors.notFound(type, id),
  });
  return {
    ...(parent && missing(parent, ids[parent])),
    ...(on === "item" && missing(resource, resource === "switch" ? ids.switch : ids.attachment)),
    ...(on === "upload" && missing("upload", ids.upload)),
  };
};

const mediaErrors = ({ reads: { from } }: Route): ErrorExamples => {
  if (from !== "form" && from !== "json") return {};
  const [tooLarge, type] =
    from === "form"
      ? [errors.fileTooLarge(limits.fileBytes), "multipart/form-data"]
      : [errors.payloadTooLarge(limits.jsonBytes), "application/json"];
  return {
    [`The ${from === "form" ? "file" : "body"} is too large`]: tooLarge,
    [`The body is not ${type}`]: errors.unsupportedMediaType(type),
  };
};

const invalidQueries = {
  "The page size is out of range": { first: String(limits.pageSize.max + 1) },
  "The reference_id is not a UUID": { reference_id: "1" },
  "The include is unknown": { include: "unknown" },
};

const wrongCursor = errors.problemIn("query", "/after", "constraint.format", "is not a cursor of this list");

const invalidErrors = ({ reads, operation, method, docs }: DocumentedRoute): ErrorExamples => {
  const queries = reads.from === "query" ? Object.entries(invalidQueries) : [];
  const problems = {
    ...Object.fromEntries(queries.map(([title, query]) => [title, check(reads.schema, query, "query").problems ?? []])),
    ...(operation === "index" && { "The cursor belongs to another list": [wrongCursor] }),
    ...docs.invalid,
    ...(method === "POST" && { "The Idempotency-Key is in use": [errors.idempotencyKeyReused] }),
  };
  const found = Object.entries(problems).filter(([, { length }]) => length > 0);
  return Object.fromEntries(found.map(([title, all]) => [title, errors.invalid(all)]));
};

/** All errors that an operation can return, in the order of its checks. */
export const errorsOf = (route: DocumentedRoute): ErrorExamples => ({
  "The API key is not valid": errors.unauthorized(),
  ...accessErrors(route),
  ...notFoundErrors(route),
  ...((route.operation === "update" || route.operation === "delete") && {
    "The document has changed": errors.preconditionFailed('"7"'),
  }),
  ...mediaErrors(route),
  ...invalidErrors(route),
  "Too many requests": errors.rateLimited(),
  "An internal error": errors.internalError(),
  "S3 or DynamoDB is unavailable": errors.serviceUnavailable(),
});

export const reasons: Readonly<Record<errors.ErrorCode, string>> = {
  unauthorized: "The API key is missing, unknown, expired or revoked, or its user does not exist or is disabled.",
  "access_denied.ordering_attachment_access":
    "Ordering Attachment Access is not enabled for the account that owns the order or the request.",
  "access_denied.permission": "The user lacks a permission.",
  "access_denied.firewall": "A web application firewall blocks the request. Do not repeat it unchanged.",
  not_found: "A resource in the path does not exist, or the API key has no access to it.",
  precondition_failed: "The document has changed since the version in `If-Match`.",
  payload_too_large: "The body or the file is too large.",
  unsupported_media_type: "The body is not of the expected media type.",
  invalid_parameter: "A part of the body, a query parameter or a header is invalid. The response lists all of them.",
  rate_limited: "Too many requests. Retry after the number of seconds in `Retry-After`.",
  internal_error: "An internal error.",
  service_unavailable: "S3 or DynamoDB is unavailable. Retry after the number of seconds in `Retry-After`.",
};

const Resource = z.object({ id: z.string(), type: z.string() });

const ErrorParams = z.object({
  account: z.optional(Resource),
  permission: z.optional(z.string()),
  resource: z.optional(Resource),
  limit_bytes: z.optional(z.int()),
  direct_upload: z.optional(z.boolean()),
  expected: z.optional(z.string()),
  minimum: z.optional(z.int()),
  maximum: z.optional(z.int()),
  allowed: z.optional(z.array(z.string())),
});

const ErrorCodes = z.enum(errors.errorCodes.map(({ code }) => code));
const ErrorSubCode = z.enum([...errors.subCodes, "none"]);
const ErrorLocation = z.enum(errors.locations);
const ErrorSource = z.object({ in: ErrorLocation, pointer: z.string() });

const ErrorObject = z.object({
  code: ErrorCodes,
  title: z.string(),
  detail: z.string(),
  sub_code: ErrorSubCode,
  source: z.optional(ErrorSource),
  params: z.optional(ErrorParams),
});

export const ErrorDocument = z.object({ errors: z.array(ErrorObject).check(z.minLength(1)) });

export const errorSchemas: readonly NamedSchema[] = [
  named(
    "ErrorDocument",
    ErrorDocument,
    { errors: "All errors of the request." },
    "The body of every error response. It lists every error of the request.",
  ),
  named(
    "ErrorObject",
    ErrorObject,
    {
      code: "The error code. The list of codes is closed.",
      title: "A short, fixed summary of the code.",
      detail: "An explanation of this error for people.",
      sub_code: "For `invalid_parameter`, the rule that the parameter violates; otherwise `none`.",
      source: "The part of the request that caused the error.",
      params: "Details of the error.",
    },
    "One error.",
  ),
  { name: "ErrorCode", schema: ErrorCodes, description: "The error codes." },
  { name: "ErrorSubCode", schema: ErrorSubCode, description: "The rules that a parameter can violate." },
  named(
    "ErrorSource",
    ErrorSource,
    {
      in: "Where the parameter is.",
      pointer:
        "A JSON pointer: `/data/name` in a body (also for the form part `data[name]`), `/first` in the query, `/Idempotency-Key` for a header, `/upload_id` in the path. Empty if the error is about the body as a whole.",
    },
    "The part of the request that caused the error.",
  ),
  { name: "ErrorLocation", schema: ErrorLocation, description: "The parts of a request." },
  named(
    "ErrorParams",
    ErrorParams,
    {
      account: "The account for which the feature is not enabled.",
      permission: "The missing permission.",
      resource: "The resource that does not exist, or the one that already uses the value.",
      limit_bytes: "The largest accepted size, in bytes.",
      direct_upload: "`true` if the file can be uploaded directly.",
      expected: "The accepted media type.",
      minimum:
        "For `constraint.length` and `constraint.range`, the smallest accepted length or value, if there is one.",
      maximum: "For `constraint.length` and `constraint.range`, the largest accepted length or value, if there is one.",
      allowed: "For `constraint.enum`, the accepted values or names.",
    },
    "Details of the error. Which properties are present depends on the code.",
  ),
  named(
    "ErrorResource",
    Resource,
    { id: "The id of the resource, as the request gives it.", type: "The type of the resource." },
    "A resource that an error is about.",
  ),
];
