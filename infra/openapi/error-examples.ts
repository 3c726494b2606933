import * as z from "zod/mini";
import { parentPermissions } from "../../shared/attachments/routes.ts";
import * as errors from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";
import type { DocumentedRoute, NamedSchema, Route } from "../../shared/route.ts";
import { check } from "../../shared/schema/check.ts";
import { ids, stated } from "../../shared/schema/documents.ts";

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

/** The errors that an operation can return, in the order of its checks. */
export const errorsOf = (route: DocumentedRoute): ErrorExamples => ({
  "The API key is not valid": errors.unauthorized(),
  ...accessErrors(route),
  ...notFoundErrors(route),
  ...(route.on === "item" && { "The document has changed": errors.preconditionFailed('"7"', "If-Match") }),
  ...mediaErrors(route),
  ...invalidErrors(route),
  "Too many requests": errors.rateLimited(),
  "An internal error": errors.internalError(),
  "Storage is unavailable": errors.serviceUnavailable(),
});

export const reasons: Readonly<Record<errors.ErrorCode, string>> = {
  unauthorized: "The API key is missing, unknown, expired or revoked, or its user does not exist or is disabled.",
  "access_denied.ordering_attachment_access":
    "Ordering Attachment Access is not enabled for the account that owns the order or the request.",
  "access_denied.permission": "The user lacks a permission.",
  "access_denied.firewall": "A web application firewall blocks the request. Do not repeat it unchanged.",
  not_found: "A resource in the path does not exist, or the API key has no access to it.",
  precondition_failed:
    "The document has changed since the version in `If-Match`, or still has the version in `If-None-Match`.",
  payload_too_large: "The body or the file is too large. Above 10 MB, the response is plain text.",
  unsupported_media_type:
    "The media type is not exactly `application/json` (whose `charset` is ignored) or `multipart/form-data`, or the body has a `Content-Encoding`.",
  invalid_parameter: "A part of the body, a query parameter or a header is invalid. The response lists all of them.",
  rate_limited: "Too many requests.",
  internal_error: "An internal error.",
  service_unavailable: "The service or its storage is unavailable.",
};

const statusOf = new Map(errors.errorCodes.map(({ code, status }) => [String(code), status]));

/** For each code its status and its reason. */
export const errorTable = Object.entries(reasons).map(([code, reason]) => [
  `${statusOf.get(code)}`,
  `\`${code}\``,
  reason,
]);

const mayGrow = "There may be more of them later: treat an unknown one by the status.";

const ErrorCodes = z.enum(errors.errorCodes.map(({ code }) => code));
const ErrorSubCode = z.enum([...errors.subCodes, "none"]);
const ErrorLocation = z.enum(errors.locations);

const resource = stated("ErrorResource", "A resource that an error is about.", {
  id: [z.string(), "The id of the resource, as the request gives it."],
  type: [z.string(), "The type of the resource."],
});

const source = stated("ErrorSource", "The part of the request that caused the error.", {
  in: [ErrorLocation, "Where the parameter is."],
  pointer: [
    z.string(),
    "A JSON pointer: `/data/name` in a body (also for the form part `data[name]`), `/first` in the query, `/Idempotency-Key` for a header, `/upload_id` in the path. Empty if the error is about the body as a whole.",
  ],
});

const optionalOf = <S extends z.core.$ZodType>(schema: S, text: string) => [z.optional(schema), text] as const;
const lengthOrRange = "For `constraint.length` and `constraint.range`";

const params = stated("ErrorParams", "Details of the error. Which properties are present depends on the code.", {
  account: optionalOf(resource.schema, "The account for which the feature is not enabled."),
  permission: optionalOf(z.string(), "The missing permission."),
  resource: optionalOf(resource.schema, "The resource that does not exist, or the one that already uses the value."),
  limit_bytes: optionalOf(z.int(), "The largest accepted size, in bytes."),
  direct_upload: optionalOf(z.boolean(), "`true` if the file can be uploaded directly."),
  expected: optionalOf(z.string(), "The accepted media type."),
  minimum: optionalOf(z.int(), `${lengthOrRange}, the smallest accepted length or value, if there is one.`),
  maximum: optionalOf(z.int(), `${lengthOrRange}, the largest accepted length or value, if there is one.`),
  allowed: optionalOf(z.array(z.string()), "For `constraint.enum`, the accepted values or names."),
});

const one = stated("ErrorObject", "One error.", {
  code: [ErrorCodes, "The error code."],
  title: [z.string(), "A short, fixed summary of the code."],
  detail: [z.string(), "An explanation of this error for people."],
  sub_code: [ErrorSubCode, "For `invalid_parameter`, the rule that the parameter violates; otherwise `none`."],
  source: optionalOf(source.schema, "The part of the request that caused the error."),
  params: optionalOf(params.schema, "Details of the error."),
});

const document = stated("ErrorDocument", "The body of every error response. It lists every error of the request.", {
  errors: [z.array(one.schema).check(z.minLength(1)), "All errors of the request."],
});
export const ErrorDocument = document.schema;

export const errorSchemas: readonly NamedSchema[] = [
  document,
  one,
  source,
  params,
  resource,
  { name: "ErrorCode", schema: ErrorCodes, description: `The error codes. ${mayGrow}` },
  { name: "ErrorSubCode", schema: ErrorSubCode, description: `The rules that a parameter can violate. ${mayGrow}` },
  { name: "ErrorLocation", schema: ErrorLocation, description: "The parts of a request." },
];
