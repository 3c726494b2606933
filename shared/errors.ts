/** Every error that a caller can get: a closed catalogue of codes, their statuses and titles. */
const catalogue = {
  unauthorized: { status: 401, title: "Unauthorized" },
  "access_denied.ordering_attachment_access": { status: 403, title: "Access Denied" },
  "access_denied.permission": { status: 403, title: "Access Denied" },
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

/** The catalogue's codes, in order of status. */
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

type SubCode = (typeof subCodes)[number];

/** One thing wrong with a request: where (a JSON pointer, `""` for the whole), which rule, and in words. */
export type Fault = {
  readonly in: "body" | "query" | "header";
  readonly pointer: string;
  readonly sub_code: SubCode;
  readonly detail: string;
  readonly params?: Readonly<Record<string, unknown>>;
};

type ErrorObject = {
  readonly code: ErrorCode;
  readonly title: string;
  readonly detail: string;
  readonly sub_code: SubCode | "none";
  readonly source?: { readonly in: Fault["in"]; readonly pointer: string };
  readonly params?: Readonly<Record<string, unknown>>;
};

export type ErrorBody = { readonly errors: readonly ErrorObject[] };

/** A response that is an error: thrown anywhere, turned into a response by http/responses.ts alone. */
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

const one = (code: ErrorCode, detail: string, params?: ErrorObject["params"], extra?: Extra) =>
  new ApiError(code, [{ detail, sub_code: "none", ...(params && { params }) }], extra);

export const unauthorized = () =>
  one("unauthorized", "The access token is missing or invalid.", undefined, {
    headers: { "WWW-Authenticate": "Bearer" },
  });

export const attachmentsDisabled = (accountId: string) =>
  one("access_denied.ordering_attachment_access", "Ordering Attachment Access is not enabled for this account.", {
    account: { id: accountId, type: "account" },
  });

export const permissionMissing = (permission: string) =>
  one("access_denied.permission", `The user lacks the permission ${permission}.`, { permission });

/** 404 for a resource; for an unknown route without one. */
export const notFound = (type?: string, id?: string) =>
  type === undefined
    ? one("not_found", "There is nothing at this address.")
    : one("not_found", `The ${type.replaceAll("_", " ")} does not exist.`, { resource: { id, type } });

export const preconditionFailed = () => one("precondition_failed", "The resource has changed: If-Match does not hold.");

export const payloadTooLarge = (limitBytes: number) =>
  one("payload_too_large", `The body or the file is larger than ${limitBytes} bytes.`, { limit_bytes: limitBytes });

/** 413 for a form: its file can be sent to storage directly. */
export const fileTooLarge = (limitBytes: number) =>
  one(
    "payload_too_large",
    `The body or the file is larger than ${limitBytes} bytes. A larger file needs a direct upload.`,
    {
      limit_bytes: limitBytes,
      direct_upload: true,
    },
  );

/** `expected`: one media type, or several with commas between them. */
export const unsupportedMediaType = (
  expected: string,
  detail = `The Content-Type must be ${expected.replaceAll(", ", " or ")}.`,
) => one("unsupported_media_type", detail, { expected });

/** 422 with one error object for each fault, in the order given. */
export const invalid = (faults: readonly Fault[]) =>
  new ApiError(
    "invalid_parameter",
    faults.map(({ in: place, pointer, params, ...rest }) => ({
      ...rest,
      source: { in: place, pointer },
      ...(params && { params }),
    })),
  );

/** What must be unique is in use: by `resource`, where it is known. */
export const takenFault = (pointer: string, resource: { readonly id: unknown; readonly type: string }): Fault => ({
  in: "body",
  pointer,
  sub_code: "constraint.unique",
  detail: "has already been taken",
  ...(resource.id !== undefined && { params: { resource } }),
});

export const idempotencyKeyReused: Fault = {
  in: "header",
  pointer: "/Idempotency-Key",
  sub_code: "constraint.unique",
  detail: "has already been used with another body",
};

/** 422 for a body that cannot be read as a whole. */
export const malformed = (detail: string) => invalid([{ in: "body", pointer: "", sub_code: "malformed", detail }]);

export const rateLimited = () =>
  one("rate_limited", "Too many requests: try again later.", undefined, { headers: { "Retry-After": "1" } });

export const internalError = (cause?: unknown) =>
  one("internal_error", "Something went wrong on our side.", undefined, { cause });

export const serviceUnavailable = (cause?: unknown) =>
  one("service_unavailable", "The service is temporarily unavailable: try again later.", undefined, {
    headers: { "Retry-After": "2" },
    cause,
  });

/** The names of transient errors of S3, DynamoDB and the network, wherever the SDK puts them. */
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

const statusOf = (error: object): number => {
  const metadata = "$metadata" in error ? error.$metadata : undefined;
  if (typeof metadata !== "object" || metadata === null || !("httpStatusCode" in metadata)) return 0;
  return typeof metadata.httpStatusCode === "number" ? metadata.httpStatusCode : 0;
};

/** Whether an error of the SDK, its retries spent, means that a service is unavailable or throttled, not that the call was wrong. */
export const isUnavailable = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  if (transient.has(error.name) || statusOf(error) >= 500) return true;
  // Node's network errors carry a code (ECONNREFUSED, EPIPE ...); an answer cut short is a body that cannot be parsed.
  if ("code" in error && typeof error.code === "string" && /^E[A-Z]+$|^ERR_STREAM/.test(error.code)) return true;
  return "$responseBodyText" in error || (error instanceof SyntaxError && "$metadata" in error);
};

/** For `catch`: what is unavailable or throttled becomes a 503, anything else is thrown as it is. */
export const unavailableAs503 = (error: unknown): never => {
  throw isUnavailable(error) ? serviceUnavailable(error) : error;
};
