import type { FaultKind } from "./proxy.ts";

export const dynamoError = (type: string, more = {}) =>
  JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: "injected", ...more });

const s3Error = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>injected</Message></Error>`;

type InjectedResponse = { readonly status: number; readonly body: string; readonly type: string };

/** The error response of a fault, as DynamoDB would send it. It is undefined for faults that change the real response. */
export const dynamoResponse = (fault: FaultKind, operation: string): InjectedResponse | undefined => {
  const error = (status: number, body: string) => ({ status, body, type: "application/x-amz-json-1.0" });
  if (fault === "status-500") return error(500, dynamoError("InternalServerError"));
  if (fault === "status-503") return error(503, dynamoError("ServiceUnavailable"));
  if (fault === "throttle") return error(400, dynamoError("ProvisionedThroughputExceededException"));
  if (fault !== "conflict") return undefined;
  if (operation !== "TransactWriteItems") return error(400, dynamoError("TransactionConflictException"));
  const CancellationReasons = [{ Code: "TransactionConflict" }];
  return error(400, dynamoError("TransactionCanceledException", { CancellationReasons }));
};

/** The same, as S3 would send it. */
export const s3Response = (fault: FaultKind): InjectedResponse | undefined => {
  const error = (status: number, code: string) => ({ status, body: s3Error(code), type: "application/xml" });
  if (fault === "status-500") return error(500, "InternalError");
  if (fault === "status-503") return error(503, "ServiceUnavailable");
  return fault === "throttle" ? error(503, "SlowDown") : undefined;
};
