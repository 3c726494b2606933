import { serviceUnavailable } from "../errors.ts";

/** What S3, DynamoDB and the network call their passing faults, wherever the SDK puts the name. */
const passing = new Set([
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

/** Whether an SDK error, its retries spent, says that the service is away or throttled rather than that we asked wrongly. */
export const isUnavailable = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  if (passing.has(error.name) || statusOf(error) >= 500) return true;
  // Node's network errors carry a code (ECONNREFUSED, EPIPE ...); an answer cut short is a body that cannot be parsed.
  if ("code" in error && typeof error.code === "string" && /^E[A-Z]+$|^ERR_STREAM/.test(error.code)) return true;
  return "$responseBodyText" in error || (error instanceof SyntaxError && "$metadata" in error);
};

/** For `catch`: what is unavailable or throttled becomes a 503, anything else is thrown as it is. */
export const unavailableAs503 = (error: unknown): never => {
  throw isUnavailable(error) ? serviceUnavailable(error) : error;
};
