import type { Route } from "../../shared/routes.ts";

export type Matched = { readonly route: Route; readonly pathParameters: Readonly<Record<string, string>> };

const pattern = (path: string) => new RegExp(`^/+${path.slice(1).replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}/?$`);

/**
 * Finds the route of a method and a path as API Gateway does: leading slashes may be repeated, one at the end is
 * ignored, and path parameters stay as they were sent, percent-encoded.
 */
export const matcher = (routes: readonly Route[]) => {
  const patterns = routes.map((route) => ({ route, pattern: pattern(route.path) }));
  return (method: string, path: string): Matched | undefined => {
    for (const { route, pattern } of patterns) {
      const match = route.method === method ? pattern.exec(path) : null;
      if (match) return { route, pathParameters: { ...match.groups } };
    }
    return undefined;
  };
};
