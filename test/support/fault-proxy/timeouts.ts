import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { vi } from "vitest";

type Timeouts = {
  readonly connectionTimeout?: number;
  readonly requestTimeout?: number;
  readonly throwOnRequestTimeout?: boolean;
};
type SentRequest = { readonly port?: number; readonly headers: Readonly<Record<string, string>> };
type Handler = {
  handle: (request: SentRequest, options?: object) => Promise<unknown>;
  httpHandlerConfigs: () => Timeouts;
};

/** The configured timeouts of each client of the service, by the port that it calls. */
export const configuredTimeouts = new Map<number, Timeouts>();

/** Replaces the timeout of every SDK call. It may depend on DynamoDB's operation. Returns a function that restores the timeouts. */
export const replaceTimeouts = (timeoutMs: (operation: string) => number): (() => void) => {
  const prototype: Handler = Object.getPrototypeOf(new DynamoDBClient({}).config.requestHandler);
  const { handle } = prototype;
  const replaced = vi.spyOn(prototype, "handle").mockImplementation(function (this: Handler, request, options) {
    configuredTimeouts.set(request.port ?? 0, this.httpHandlerConfigs());
    return handle.call(this, request, {
      ...options,
      requestTimeout: timeoutMs(request.headers["x-amz-target"]?.split(".")[1] ?? ""),
    });
  });
  return () => replaced.mockRestore();
};
