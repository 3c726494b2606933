import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { vi } from "vitest";

type Timeouts = { readonly connectionTimeout?: number; readonly requestTimeout?: number };
type Handler = {
  handle: (request: { readonly port?: number }, options?: object) => Promise<unknown>;
  httpHandlerConfigs: () => Timeouts;
};

/** The timeouts that each of our clients was made with, by the port that it calls. */
export const configured = new Map<number, Timeouts>();

/** Lets every call of the SDK time out after `requestTimeout` instead, so that no test waits for the real one. */
export const shortenTimeouts = (requestTimeout: number): void => {
  const prototype: Handler = Object.getPrototypeOf(new DynamoDBClient({}).config.requestHandler);
  const { handle } = prototype;
  vi.spyOn(prototype, "handle").mockImplementation(function (this: Handler, request, options) {
    configured.set(request.port ?? 0, this.httpHandlerConfigs());
    return handle.call(this, request, { ...options, requestTimeout });
  });
};
