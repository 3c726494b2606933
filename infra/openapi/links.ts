import { type Route, routes } from "../../shared/routes.ts";
import type { Json } from "./json.ts";
import { operationId } from "./names.ts";

const parametersIn = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);

/** Links from the response of a create operation to the operations on the created resource. */
export const linksOf = ({ operation, resource, document, path }: Route): Json => {
  if (operation !== "create" || document !== resource) return {};
  const ownParameters = new Set(parametersIn(path));
  const targets = routes.filter((route) => route.resource === resource && route.path.endsWith("}"));
  const links = targets.map((target) => {
    const parameters = parametersIn(target.path).map((name) => [
      name,
      ownParameters.has(name) ? `$request.path.${name}` : "$response.body#/data/id",
    ]);
    const { summary } = target;
    return [
      target.operation,
      { operationId: operationId(target), parameters: Object.fromEntries(parameters), description: `${summary}.` },
    ];
  });
  return links.length > 0 ? { links: Object.fromEntries(links) } : {};
};
