import {
  type ApiError,
  attachmentsDisabled,
  type ErrorCode,
  fileTooLarge,
  idempotencyKeyReused,
  internalError,
  invalid,
  notFound,
  type Problem,
  payloadTooLarge,
  permissionMissing,
  preconditionFailed,
  rateLimited,
  serviceUnavailable,
  unauthorized,
  unsupportedMediaType,
} from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";
import { ownPermission, parentPermissions, type Route } from "../../shared/routes.ts";
import { exampleOf } from "./examples/by-route.ts";
import { ids } from "./examples/ids.ts";

/** An example of an error that an operation can return. */
export type ErrorExample = { readonly title: string; readonly code: ErrorCode; readonly error: ApiError };

const example = (title: string, code: ErrorCode, error: ApiError): ErrorExample => ({ title, code, error });

const accessErrors = (route: Route): ErrorExample[] => {
  const own = ownPermission(route);
  const ownError = example("The operation's permission is missing", "access_denied.permission", permissionMissing(own));
  if (route.parent !== "request" && route.parent !== "order") return [ownError];
  const parentError = permissionMissing(parentPermissions[route.parent].CART);
  return [
    example("The feature is disabled", "access_denied.ordering_attachment_access", attachmentsDisabled(ids.account)),
    example("The parent's permission is missing", "access_denied.permission", parentError),
    ownError,
  ];
};

const notFoundErrors = ({ parent, path, resource }: Route): ErrorExample[] => {
  const own = resource === "switch" ? ids.switch : ids.attachment;
  const title = `The ${resource.replaceAll("_", " ")} does not exist`;
  return [
    ...(parent ? [example(`The ${parent} does not exist`, "not_found", notFound(parent, ids[parent]))] : []),
    ...(path.endsWith("}") ? [example(title, "not_found", notFound(resource, own))] : []),
  ];
};

const mediaErrors = ({ reads }: Route): ErrorExample[] => {
  if (reads.from !== "form" && reads.from !== "json") return [];
  const [tooLarge, types] =
    reads.from === "form"
      ? [fileTooLarge(limits.fileBytes), "multipart/form-data, application/json"]
      : [payloadTooLarge(limits.jsonBytes), "application/json"];
  return [
    example("The body is too large", "payload_too_large", tooLarge),
    example("The media type is not supported", "unsupported_media_type", unsupportedMediaType(types)),
  ];
};

const idempotencyKeyProblems: Readonly<Record<string, readonly Problem[]>> = {
  "The Idempotency-Key is in use": [idempotencyKeyReused],
};

const invalidErrors = (route: Route): ErrorExample[] =>
  Object.entries({ ...exampleOf(route).invalid, ...(route.method === "POST" && idempotencyKeyProblems) }).map(
    ([title, problems]) => example(title, "invalid_parameter", invalid(problems)),
  );

/** All errors that an operation can return, in the order of its checks. */
export const errorsOf = (route: Route): ErrorExample[] => [
  example("The API key is not valid", "unauthorized", unauthorized()),
  ...accessErrors(route),
  ...notFoundErrors(route),
  ...(route.operation === "update" || route.operation === "delete"
    ? [example("The document has changed", "precondition_failed", preconditionFailed())]
    : []),
  ...mediaErrors(route),
  ...invalidErrors(route),
  example("Too many requests", "rate_limited", rateLimited()),
  example("An internal error", "internal_error", internalError()),
  example("S3 or DynamoDB is unavailable", "service_unavailable", serviceUnavailable()),
];

/** The reason for each code. */
export const reasons: Readonly<Record<ErrorCode, string>> = {
  unauthorized: "The API key is missing, unknown, expired or revoked, or its user does not exist or is disabled.",
  "access_denied.ordering_attachment_access":
    "Ordering Attachment Access is not enabled for the account that owns the order or the request.",
  "access_denied.permission": "The user lacks a permission.",
  not_found: "A resource in the path does not exist, or the API key has no access to it.",
  precondition_failed: "The document has changed since the version in `If-Match`.",
  payload_too_large: "The body or the file is too large.",
  unsupported_media_type: "The body is not of the expected media type.",
  invalid_parameter: "A part of the body, a query parameter or a header is invalid. The response lists all of them.",
  rate_limited: "Too many requests. Retry after the number of seconds in `Retry-After`.",
  internal_error: "An internal error.",
  service_unavailable: "S3 or DynamoDB is unavailable. Retry after the number of seconds in `Retry-After`.",
};
