import { ownPermission, parentPermissions, routes } from "../../shared/routes.ts";

const exact = [
  ...routes.map(ownPermission),
  ...Object.values(parentPermissions).flatMap((states) => Object.values(states)),
];

/** Every permission that an endpoint requires, and the wildcard of each resource. */
export const knownPermissions: readonly string[] = [
  ...new Set([...exact, ...exact.map((one) => one.replace(/:[^:]*$/, ":*"))]),
].sort();
