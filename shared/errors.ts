/** Every error that a caller can get. This is a closed list of codes with their statuses and titles. */
const catalogue = {
  unauthorized: { status: 401, title: "Unauthorized" },
  "access_denied.ordering_attachment_access": { status: 403, title: "Access Denied" },
  "access_denied.permission": { status: 403, title: "Access Denied" },
  "access_denied.firewall": { status: 403, title: "Access Denied" },
  not_found: { status: 404, title: "Not Found" },
  precondition_failed: { status: 412, title: "Precondition Failed" },
  payload_too_large: { status: 413, title: "Payload Too Large" },
  unsupported_media_type: { status: 415, title: "Unsupported Media Type" },
  invalid_parameter: { status: 422, title: "Invalid Parameter" },
  rate_limited: { status: 429, title: "Too Many Requests" },
  internal_error: { status: 500, title: "Internal Server Error" },
  service_unavailable: { status: 503, title: "Service Unavailable" },
} as const;

export type ErrorCode = keyof typeof catalogue;

export const errorCodes = Object.entries(catalogue).map(([code, { status, title }]) => ({ code, status, title }));

export const subCodes = [
  "constraint.required",
  "constraint.type",
  "constraint.enum",
  "constraint.format",
  "constraint.length",
  "constraint.range",
  "constraint.unique",
  "constraint.immutable",
  "constraint.reference",
  "malformed",
] as const;

export const locations = ["body", "query", "header", "path"] as const;

type SubCode = (typeof subCodes)[number];

/** One problem with a request. `pointer` is a JSON pointer, and `""` stands for the whole body. `detail` is for people. */
export type Problem = {
  readonly in: (typeof locations)[number];
  readonly pointer: string;
  readonly sub_code: SubCode;
  readonly detail: string;
  readonly params?: Readonly<Record<string, unknown>>;
};

export const problemIn = (
  place: Problem["in"],
  pointer: string,
  sub_code: SubCode,
  detail: string,
  params?: Problem["params"],
): Problem => ({ in: place, pointer, sub_code, detail, ...(params && { params }) });

export const problem = (name: string, sub_code: SubCode, detail: string, params?: Problem["params"]): Problem =>
  problemIn("body", `/data/${name}`, sub_code, detail, params);

type ErrorObject = {
  readonly code: ErrorCode;
  readonly title: string;
  readonly detail: string;
  readonly sub_code: SubCode | "none";
  readonly source?: { readonly in: Problem["in"]; readonly pointer: string };
  readonly params?: Readonly<Record<string, unknown>>;
};

export type ErrorBody = { readonly errors: readonly ErrorObject[] };

/** Headers of every response of the API, including those of the gateway and the firewall. */
export const securityHeaders = { "X-Content-Type-Options": "nosniff" } as const;

/** Headers of every response on AWS. Without TLS, as with `npm start`, a server must not send the second one (RFC 6797, 7.2). */
export const deployedHeaders = { ...securityHeaders, "Strict-Transport-Security": "max-age=31536000" } as const;

/** An error for the caller. Any code may throw it, but only http/responses.ts turns it into a response. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, objects: readonly Omit<ErrorObject, "code" | "title">[], extra: Extra = {}) {
    super(`${code}: ${objects.map(({ detail }) => detail).join("; ")}`, { cause: extra.cause });
    const { status, title } = catalogue[code];
    this.status = status;
    this.body = { errors: objects.map((object) => ({ code, title, ...object })) };
    this.headers = extra.headers ?? {};
  }
}

type Extra = { readonly headers?: Readonly<Record<string, string>>; readonly cause?: unknown };

const apiError = (code: ErrorCode, detail: string, params?: ErrorObject["params"], extra?: Extra) =>
  new ApiError(code, [{ detail, sub_code: "none", ...(params && { params }) }], extra);

export const unauthorized = () =>
  apiError("unauthorized", "The access token is missing or invalid.", undefined, {
    headers: { "WWW-Authenticate": "Bearer" },
  });

export const attachmentsDisabled = (accountId: string) =>
  apiError("access_denied.ordering_attachment_access", "Ordering Attachment Access is not enabled for this account.", {
    account: { id: accountId, type: "account" },
  });

export const permissionMissing = (permission: string) =>
  apiError("access_denied.permission", `The user lacks the permission ${permission}.`, { permission });

export const blockedByFirewall = () =>
  apiError("access_denied.firewall", "A firewall has blocked this request. Do not repeat it unchanged.");

/** 404 for a resource or, without arguments, for an unknown route. */
export const notFound = (type?: string, id?: string) =>
  type === undefined
    ? apiError("not_found", "No route matches this method and path.")
    : apiError("not_found", `The ${type.replaceAll("_", " ")} does not exist.`, { resource: { id, type } });

const failedConditions = {
  "If-Match": "The resource has changed since the version in If-Match.",
  "If-None-Match": "The resource still has the version in If-None-Match.",
} as const;

export const preconditionFailed = (etag: string, header: keyof typeof failedConditions) =>
  apiError("precondition_failed", failedConditions[header], undefined, { headers: { ETag: etag } });

export const payloadTooLarge = (limitBytes: number) =>
  apiError("payload_too_large", `The body or the file is larger than ${limitBytes} bytes.`, {
    limit_bytes: limitBytes,
  });

/** 413 for a form. Tells the caller that a direct upload accepts larger files. */
export const fileTooLarge = (limitBytes: number) => {
  const detail = `The body or the file is larger than ${limitBytes} bytes. A larger file needs a direct upload.`;
  return apiError("payload_too_large", detail, { limit_bytes: limitBytes, direct_upload: true });
};

/** The error of a gateway that cannot tell a body that is too large from a request that cannot be read. */
export const tooLargeOrUnreadable = (limitBytes: number) => {
  const detail = `The file is larger than ${limitBytes} bytes, and needs a direct upload; or the request can't be read.`;
  return apiError("payload_too_large", detail, { limit_bytes: limitBytes, direct_upload: true });
};

export const unsupportedMediaType = (expected: string, detail = `The Content-Type must be ${expected}.`) =>
  apiError("unsupported_media_type", detail, { expected });

/** 422 with one error object for each problem, in the order given. */
export const invalid = (problems: readonly Problem[]) =>
  new ApiError(
    "invalid_parameter",
    problems.map(({ in: location, pointer, params, ...rest }) => ({
      ...rest,
      source: { in: location, pointer },
      ...(params && { params }),
    })),
  );

/** A value that must be unique is in use, by `resource` if that is known. */
export const alreadyTaken = (pointer: string, resource: { readonly id: unknown; readonly type: string }): Problem => ({
  ...problemIn("body", pointer, "constraint.unique", "has already been taken"),
  ...(resource.id !== undefined && { params: { resource } }),
});

export const idempotencyKeyReused: Problem = {
  in: "header",
  pointer: "/Idempotency-Key",
  sub_code: "constraint.unique",
  detail: "has already been used with another body or path",
};

export const malformed = (detail: string) => invalid([problemIn("body", "", "malformed", detail)]);

export const rateLimited = () =>
  apiError("rate_limited", "Too many requests: try again later.", undefined, { headers: { "Retry-After": "1" } });

export const internalError = (cause?: unknown) =>
  apiError("internal_error", "Something went wrong on our side.", undefined, { cause });

export const serviceUnavailable = (
  cause?: unknown,
  detail = "The service is temporarily unavailable: try again later.",
) => apiError("service_unavailable", detail, undefined, { headers: { "Retry-After": "2" }, cause });

/** The names of transient errors of S3, DynamoDB and the network. */
const transient = new Set([
  "InternalServerError",
  "InternalError",
  "LimitExceededException",
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
  "RequestTimeout",
  "ServiceUnavailable",
  "SlowDown",
  "ThrottlingException",
  "TimeoutError",
  "TransactionConflictException",
  "TransactionInProgressException",
]);

type SdkError = Error & { readonly $metadata?: { readonly httpStatusCode?: number } };

/** Whether an error that the SDK throws after its retries means that a service is unavailable, not that the call was wrong. */
export const isUnavailable = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { name, $metadata }: SdkError = error;
  if (transient.has(name) || ($metadata?.httpStatusCode ?? 0) >= 500) return true;
  // Node's network errors have a code, such as ECONNREFUSED or EPIPE. A truncated response has a body that cannot be parsed.
  if ("code" in error && typeof error.code === "string" && /^E[A-Z]+$|^ERR_STREAM/.test(error.code)) return true;
  return "$responseBodyText" in error || (error instanceof SyntaxError && "$metadata" in error);
};

/** Whether an error is a fault of this code or of its deployment, which no caller and no unavailable service can cause. */
export const isDefect = (error: unknown): boolean =>
  error instanceof ApiError ? error.status === 500 : !isUnavailable(error);

/**
 * Returns the error for the caller. It is 503 for an unavailable service, even if nothing has converted the error, and 500 for any
 * other error.
 */
export const asApiError = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error;
  return isUnavailable(error) ? serviceUnavailable(error) : internalError(error);
};

/** For `catch`. Turns an unavailable or throttled service into a 503. Rethrows any other error. */
export const unavailableAs503 = (error: unknown): never => {
  throw isUnavailable(error) ? serviceUnavailable(error) : error;
};
