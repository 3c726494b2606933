import { inject } from "vitest";
import * as z from "zod/mini";

const ErrorObject = z.looseObject({
  code: z.string(),
  sub_code: z.string(),
  source: z.optional(z.object({ in: z.string(), pointer: z.string() })),
});
const ErrorBody = z.object({ errors: z.array(ErrorObject) });

/** What came back: the body as it was, and as the kinds of document that tests ask for. */
export type Answered = Awaited<ReturnType<typeof call>>;

type Sent = {
  readonly key?: string | undefined;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  readonly body?: string | Uint8Array | FormData;
};

/** One request to the service under test, over HTTP. */
export const call = async (method: string, path: string, { key, headers = {}, json, body }: Sent = {}) => {
  const response = await fetch((process.env.PATCHBAY_URL ?? inject("baseUrl")) + path, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(json !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    body:
      json !== undefined
        ? JSON.stringify(json)
        : typeof body === "object" && !(body instanceof FormData)
          ? new Uint8Array(body)
          : (body ?? null),
  });
  const text = await response.text();
  const parsed: unknown = JSON.parse(text);
  return { status: response.status, headers: response.headers, text, body: parsed };
};

/** The faults of a 422 as "place pointer sub_code", in their order. */
export const faultsOf = ({ body }: Answered): string[] =>
  z.parse(ErrorBody, body).errors.map(({ source, sub_code }) => `${source?.in} ${source?.pointer} ${sub_code}`);

/** The code of an answer's first error. */
export const codeOf = ({ body }: Answered): string | undefined => z.parse(ErrorBody, body).errors[0]?.code;

/** A whole error body of one error. */
export const errorBody = (object: Record<string, unknown>) => ({ errors: [{ sub_code: "none", ...object }] });

/** The body of a 404 for a resource. */
export const notFoundBody = (type: string, id: string) =>
  errorBody({
    code: "not_found",
    title: "Not Found",
    detail: `The ${type.replaceAll("_", " ")} does not exist.`,
    params: { resource: { id, type } },
  });
