import { inject } from "vitest";
import * as z from "zod/mini";
import type { EndpointRequest } from "./request-per-endpoint.ts";

const ErrorObject = z.looseObject({
  code: z.string(),
  sub_code: z.string(),
  source: z.optional(z.object({ in: z.string(), pointer: z.string() })),
});
const ErrorBody = z.object({ errors: z.array(ErrorObject) });

/** A response, with its body as text and as JSON. */
export type ReceivedResponse = Awaited<ReturnType<typeof send>>;

type RequestParts = {
  readonly key?: string | undefined;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  readonly body?: string | Uint8Array | FormData;
};

/** Sends a request to the service under test, over HTTP. */
export const fetchFromService = ({ method, path, init }: EndpointRequest): Promise<Response> =>
  fetch((process.env.PATCHBAY_URL ?? inject("baseUrl")) + path, { ...init, method });

export const send = async (request: EndpointRequest) => {
  const response = await fetchFromService(request);
  const text = await response.text();
  const body: unknown = text === "" ? null : JSON.parse(text);
  return { status: response.status, headers: response.headers, text, body };
};

/** Sends a request by its method and path. */
export const call = (method: string, path: string, { key, headers = {}, json, body }: RequestParts = {}) => {
  const all = {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(json !== undefined && { "content-type": "application/json" }),
    ...headers,
  };
  const bytes = typeof body === "object" && !(body instanceof FormData) ? new Uint8Array(body) : (body ?? null);
  return send({ method, path, init: { headers: all, body: json === undefined ? bytes : JSON.stringify(json) } });
};

/** The errors of a 422, each as "place pointer sub_code", in order. */
export const invalidParametersOf = ({ body }: ReceivedResponse): string[] =>
  z.parse(ErrorBody, body).errors.map(({ source, sub_code }) => `${source?.in} ${source?.pointer} ${sub_code}`);

/** The code of the first error in a response. */
export const codeOf = ({ body }: ReceivedResponse): string | undefined => z.parse(ErrorBody, body).errors[0]?.code;

/** An error body with one error. */
export const errorBody = (object: Record<string, unknown>) => ({ errors: [{ sub_code: "none", ...object }] });

/** The body of a 422 with one error about one parameter. */
export const invalidBody = (place: "body" | "header" | "path" | "query", pointer: string, error: object) =>
  errorBody({
    code: "invalid_parameter",
    title: "Invalid Parameter",
    source: { in: place, pointer },
    ...error,
  });

/** The body of a 422 because another resource has this value. */
export const takenBody = (pointer: string, resource: object) =>
  invalidBody("body", pointer, {
    sub_code: "constraint.unique",
    detail: "has already been taken",
    params: { resource },
  });

export const deniedBody = (permission: string) =>
  errorBody({
    code: "access_denied.permission",
    title: "Access Denied",
    detail: `The user lacks the permission ${permission}.`,
    params: { permission },
  });

export const notFoundBody = (type: string, id: string) =>
  errorBody({
    code: "not_found",
    title: "Not Found",
    detail: `The ${type.replaceAll("_", " ")} does not exist.`,
    params: { resource: { id, type } },
  });
