import type { APIGatewayProxyEvent } from "aws-lambda";
import { noId, parseUlid } from "../schema/fields.ts";
import type { PathId, Principal } from "../tenants/access.ts";

/** A request on its way through the middleware; `principal` is set once the caller is known, for the log. */
export type Incoming = APIGatewayProxyEvent & { principal?: Principal };

/** A header's value, whatever the case of its name. If there are several, the last. */
export const header = ({ headers }: Pick<APIGatewayProxyEvent, "headers">, name: string): string | undefined => {
  const found = Object.keys(headers ?? {}).find((key) => key.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : headers[found];
};

/** A header that is a list: all its lines, joined as RFC 9110 (5.2) says. */
export const listHeader = (
  event: Pick<Incoming, "headers" | "multiValueHeaders">,
  name: string,
): string | undefined => {
  const lines = Object.entries(event.multiValueHeaders ?? {}).flatMap(([key, values]) =>
    key.toLowerCase() === name.toLowerCase() ? (values ?? []) : [],
  );
  return lines.length > 0 ? lines.join(", ") : header(event, name);
};

/** API Gateway passes path parameters on as they were sent. Some emulators decode them. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** An id from the path. */
export const pathId = (event: Pick<APIGatewayProxyEvent, "pathParameters">, name: string): PathId => {
  const given = decoded(event.pathParameters?.[name] ?? "");
  const id = parseUlid(given);
  return { requestedId: id ?? given, id: id ?? noId };
};
