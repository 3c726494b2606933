import {
  type ApiError,
  attachmentsDisabled,
  type ErrorCode,
  type Fault,
  idempotencyKeyReused,
  internalError,
  invalid,
  notFound,
  payloadTooLarge,
  permissionMissing,
  preconditionFailed,
  rateLimited,
  serviceUnavailable,
  unauthorized,
  unsupportedMediaType,
} from "../../shared/errors.ts";
import { ownPermission, parentPermissions, type Route } from "../../shared/routes.ts";
import { exampleOf } from "./examples/by-route.ts";
import { ids } from "./examples/ids.ts";

/** One error that an operation can answer, under a title. */
export type Refusal = { readonly title: string; readonly code: ErrorCode; readonly error: ApiError };

const refusal = (title: string, code: ErrorCode, error: ApiError): Refusal => ({ title, code, error });

const accessRefusals = (route: Route): Refusal[] => {
  const own = ownPermission(route);
  const ofOwn = refusal("The operation's permission is missing", "access_denied.permission", permissionMissing(own));
  if (route.parent !== "request" && route.parent !== "order") return [ofOwn];
  const ofParent = permissionMissing(parentPermissions[route.parent].CART);
  return [
    refusal("The feature is off", "access_denied.ordering_attachment_access", attachmentsDisabled(ids.account)),
    refusal("The parent's permission is missing", "access_denied.permission", ofParent),
    ofOwn,
  ];
};

const missingRefusals = ({ parent, path, resource }: Route): Refusal[] => {
  const own = resource === "switch" ? ids.switch : ids.attachment;
  return [
    ...(parent ? [refusal(`No such ${parent}`, "not_found", notFound(parent, ids[parent]))] : []),
    ...(path.endsWith("}")
      ? [refusal(`No such ${resource.replaceAll("_", " ")}`, "not_found", notFound(resource, own))]
      : []),
  ];
};

const bodyRefusals = ({ reads }: Route): Refusal[] => {
  if (reads.from !== "form" && reads.from !== "json") return [];
  const [limit, type] = reads.from === "form" ? [4_600_000, "multipart/form-data"] : [1_048_576, "application/json"];
  return [
    refusal("A body that is too large", "payload_too_large", payloadTooLarge(limit)),
    refusal("Another media type", "unsupported_media_type", unsupportedMediaType(type)),
  ];
};

const keyFaults: Readonly<Record<string, readonly Fault[]>> = {
  "An Idempotency-Key in use": [idempotencyKeyReused],
};

const invalidRefusals = (route: Route): Refusal[] =>
  Object.entries({ ...exampleOf(route).invalid, ...(route.method === "POST" && keyFaults) }).map(([title, faults]) =>
    refusal(title, "invalid_parameter", invalid(faults)),
  );

/** Every error of an operation, in the order in which they are checked. */
export const refusalsOf = (route: Route): Refusal[] => [
  refusal("No valid key", "unauthorized", unauthorized()),
  ...accessRefusals(route),
  ...missingRefusals(route),
  ...(route.operation === "update" || route.operation === "delete"
    ? [refusal("Changed in the meantime", "precondition_failed", preconditionFailed())]
    : []),
  ...bodyRefusals(route),
  ...invalidRefusals(route),
  refusal("Too many requests", "rate_limited", rateLimited()),
  refusal("A fault of the service", "internal_error", internalError()),
  refusal("Storage or table is away", "service_unavailable", serviceUnavailable()),
];

/** When each code is answered. */
export const reasons: Readonly<Record<ErrorCode, string>> = {
  unauthorized: "the access token is missing or invalid, or its user is missing or disabled",
  "access_denied.ordering_attachment_access": "the account that owns the order or request lacks the feature",
  "access_denied.permission": "the user lacks a permission",
  not_found: "what the path names does not exist, or not for this key",
  precondition_failed: "`If-Match` does not hold",
  payload_too_large: "the body or its file is too large",
  unsupported_media_type: "the body is not of the media type that is expected",
  invalid_parameter: "something in the body, the query or a header is wrong; all of it is named",
  rate_limited: "too many requests; `Retry-After` says when to try again",
  internal_error: "a fault of the service",
  service_unavailable: "storage or table is away for now; `Retry-After` says when to try again",
};
