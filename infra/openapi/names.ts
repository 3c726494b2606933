import type { Route } from "../../shared/routes.ts";

/** `order_attachment` and `order-attachment` as `OrderAttachment`. */
export const pascal = (name: string) =>
  name
    .split(/[-_ ]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");

const singular = (plural: string) => plural.replace(/(?<=ch)es$|s$/, "");

/** `switches/create-under-account` as `createSwitchUnderAccount`; a list keeps the plural. */
export const operationId = ({ name, operation }: Pick<Route, "name" | "operation">) => {
  const [folder = "", file = ""] = name.split("/");
  const [verb = "", ...rest] = file.split("-");
  return verb + pascal(operation === "index" ? folder : singular(folder)) + pascal(rest.join("-"));
};
