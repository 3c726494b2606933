import { inspect } from "node:util";
import { expect, it } from "vitest";
import { isUnavailable, unavailableAs503 } from "../../shared/errors.ts";

it("an error of AWS is a 503 if another attempt may succeed, and stays as it is otherwise", () => {
  const named = (name: string, properties = {}) => Object.assign(new Error("injected"), { name, ...properties });
  const names = ["InternalServerError", "InternalError", "LimitExceededException", "RequestLimitExceeded"]
    .concat("ProvisionedThroughputExceededException", "RequestTimeout", "ServiceUnavailable", "SlowDown")
    .concat("ThrottlingException", "TimeoutError", "TransactionConflictException", "TransactionInProgressException");
  const statuses = [500, 499].map((httpStatusCode) => named("x", { $metadata: { httpStatusCode } }));
  const codes = ["EPIPE", "ERR_STREAM_PREMATURE_CLOSE", "ERR_INVALID_ARG", "E1", 7].map((code) => named("x", { code }));
  const unparsable = Object.assign(new SyntaxError(), { $metadata: {} });
  const temporary = [...names.map((name) => named(name)), statuses[0], codes[0], codes[1], unparsable];
  for (const error of [...temporary, named("x", { $responseBodyText: "<" })]) {
    expect(isUnavailable(error), inspect(error)).toBe(true);
    expect(() => unavailableAs503(error)).toThrow(expect.objectContaining({ status: 503, cause: error }));
  }
  const others = [...statuses.slice(1), ...codes.slice(2), named("x", { $metadata: null }), new SyntaxError()];
  for (const error of [...others, { name: "SlowDown" }]) {
    expect(isUnavailable(error), inspect(error)).toBe(false);
    expect(() => unavailableAs503(error)).toThrow(expect.objectContaining(error));
  }
});
