import type { Route } from "../../shared/routes.ts";

/** Converts `order_attachment` or `order-attachment` to `OrderAttachment`. */
export const pascal = (name: string) =>
  name
    .split(/[-_ ]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");

const singular = (plural: string) => plural.replace(/(?<=ch)es$|s$/, "");

/** `createSwitchUnderAccount` for `switches/create-under-account`. A list has the plural, as in `listSwitches`. */
export const operationId = ({ name, operation }: Pick<Route, "name" | "operation">) => {
  const [folder = "", file = ""] = name.split("/");
  const [verb = "", ...rest] = file.split("-");
  return verb + pascal(operation === "index" ? folder : singular(folder)) + pascal(rest.join("-"));
};
