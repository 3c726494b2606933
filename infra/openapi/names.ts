import type { Route } from "../../shared/route.ts";

/** Converts `order_attachment` or `order-attachment` to `OrderAttachment`. */
export const pascal = (name: string) =>
  name
    .split(/[-_ ]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");

const singular = (plural: string) => plural.replace(/(?<=ch)es$|s$/, "");

/** Returns `complete-upload` for `order-attachments/complete-upload`. */
export const fileOf = ({ name }: Pick<Route, "name">) => name.slice(name.indexOf("/") + 1);

/** Returns `createSwitchUnderAccount` for `switches/create-under-account`. A list has the plural, as in `listSwitches`. */
export const operationId = ({ name, operation }: Pick<Route, "name" | "operation">) => {
  const [folder = ""] = name.split("/");
  const [verb = "", ...rest] = fileOf({ name }).split("-");
  return verb + pascal(operation === "index" ? folder : singular(folder)) + pascal(rest.join("-"));
};

/**
 * Returns a name such as `SwitchCreate`. `NewSwitch` would be a constructor in Go, and generators use `CreateSwitch` for the
 * operation.
 */
export const bodyName = ({ name, document }: Pick<Route, "name" | "document">) =>
  pascal(document) + pascal(fileOf({ name }).replace(/-.*/, ""));

export const pathParameters = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
