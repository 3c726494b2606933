import type { FaultKind } from "./proxy.ts";

/** An error's body in DynamoDB's own form. */
export const dynamoError = (type: string, more = {}) =>
  JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: "injected", ...more });

const s3Error = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>injected</Message></Error>`;

type MadeUp = { readonly status: number; readonly body: string; readonly type: string };

/** The faults that are an answer of their own, as DynamoDB or S3 would word them; undefined for those that spoil the real one. */
export const madeUp = (fault: FaultKind, operation: string, dynamo: boolean): MadeUp | undefined =>
  dynamo ? ofDynamo(fault, operation) : ofS3(fault);

const ofDynamo = (fault: FaultKind, operation: string): MadeUp | undefined => {
  const answer = (status: number, body: string) => ({ status, body, type: "application/x-amz-json-1.0" });
  if (fault === "status-500") return answer(500, dynamoError("InternalServerError"));
  if (fault === "status-503") return answer(503, dynamoError("ServiceUnavailable"));
  if (fault === "throttle") return answer(400, dynamoError("ProvisionedThroughputExceededException"));
  if (fault !== "conflict") return undefined;
  if (operation !== "TransactWriteItems") return answer(400, dynamoError("TransactionConflictException"));
  const CancellationReasons = [{ Code: "TransactionConflict" }];
  return answer(400, dynamoError("TransactionCanceledException", { CancellationReasons }));
};

const ofS3 = (fault: FaultKind): MadeUp | undefined => {
  const answer = (status: number, code: string) => ({ status, body: s3Error(code), type: "application/xml" });
  if (fault === "status-500") return answer(500, "InternalError");
  if (fault === "status-503") return answer(503, "ServiceUnavailable");
  return fault === "throttle" ? answer(503, "SlowDown") : undefined;
};
