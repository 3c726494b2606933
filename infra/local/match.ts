import type { IncomingMessage } from "node:http";
import type { Route } from "../../shared/route.ts";

export type Target = Pick<URL, "pathname" | "searchParams">;

/** Returns undefined if the target is neither a path nor an absolute URL. As in API Gateway, `..` and `\` have no special meaning. */
export const targetOf = ({ url = "" }: IncomingMessage): Target | undefined => {
  const [, pathname, query = ""] = /^(?:https?:\/\/[^/?#]+)?(\/[^?#]*)(?:\?([^#]*))?/i.exec(url) ?? [];
  const isValid = url.startsWith("/") || URL.canParse(url);
  return isValid && pathname !== undefined ? { pathname, searchParams: new URLSearchParams(query) } : undefined;
};

export type Matched = { readonly route: Route; readonly pathParameters: Readonly<Record<string, string>> };

const patternOf = (path: string) => new RegExp(`^/+${path.slice(1).replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}/?$`);

/** Like API Gateway, ignores repeated leading slashes and a trailing one, and keeps path parameters percent-encoded. */
export const matcher = (routes: readonly Route[]) => {
  const patterns = routes.map((route) => ({ route, pattern: patternOf(route.path) }));
  return (method: string, path: string): Matched | undefined => {
    for (const { route, pattern } of patterns) {
      const match = route.method === (method === "HEAD" ? "GET" : method) ? pattern.exec(path) : null;
      if (match) return { route, pathParameters: { ...match.groups } };
    }
    return undefined;
  };
};
