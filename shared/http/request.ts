import type { APIGatewayProxyEvent } from "aws-lambda";
import { parseUlid } from "../schema/fields.ts";
import type { PathId } from "../tenants/access.ts";

type GatewayContext = APIGatewayProxyEvent["requestContext"];

/** An event of API Gateway's REST proxy integration, with those properties of its context that the functions read. */
export type GatewayEvent = Omit<APIGatewayProxyEvent, "requestContext"> & {
  readonly requestContext: Pick<GatewayContext, "requestId" | "extendedRequestId" | "requestTimeEpoch">;
};

/** A request as the middleware passes it on, with what the steps so far have added to its log line. */
export type RequestEvent = GatewayEvent & { logged?: Readonly<Record<string, unknown>> };

/** Adds fields to the log line of a request. `respond` writes it at the end, with what was added until then. */
export const addToLogLine = (event: RequestEvent, fields: Readonly<Record<string, unknown>> = {}): void => {
  event.logged = { ...event.logged, ...fields };
};

/** Returns a header's value, or the last of several. The name is not case-sensitive. */
export const header = ({ headers }: Pick<APIGatewayProxyEvent, "headers">, name: string): string | undefined =>
  Object.entries(headers ?? {}).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];

/** Returns all lines of a header. The name is not case-sensitive. */
export const headerLines = (
  event: Pick<RequestEvent, "headers" | "multiValueHeaders">,
  name: string,
): readonly string[] => {
  const lines = Object.entries(event.multiValueHeaders ?? {}).flatMap(([key, values]) =>
    key.toLowerCase() === name.toLowerCase() ? (values ?? []) : [],
  );
  return lines.length > 0 ? lines : [header(event, name) ?? []].flat();
};

/** Returns the value of a header that is a list. It joins all lines as in RFC 9110, 5.2. */
export const listHeader = (...of: Parameters<typeof headerLines>): string | undefined => {
  const lines = headerLines(...of);
  return lines.length > 0 ? lines.join(", ") : undefined;
};

/** API Gateway does not decode path parameters. Some emulators do. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export const pathId = (event: Pick<APIGatewayProxyEvent, "pathParameters">, name: string): PathId => {
  const requested = decoded(event.pathParameters?.[name] ?? "");
  const id = parseUlid(requested);
  return { requestedId: id ?? requested, id };
};

export const pathIds = (event: Pick<APIGatewayProxyEvent, "pathParameters">): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.keys(event.pathParameters ?? {}).flatMap((name) => {
      const { id } = pathId(event, name);
      return id === undefined ? [] : [[name, id]];
    }),
  );
