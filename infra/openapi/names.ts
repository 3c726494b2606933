import type { ResourceType, Route } from "../../shared/routes.ts";

/** `order_attachment` and `order-attachment` as `OrderAttachment`. */
export const pascal = (name: string) =>
  name
    .split(/[-_ ]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");

/** `switches/create-under-account` as `createSwitchUnderAccount`; a list has its plural. */
export const operationId = ({ name, resource, operation }: Pick<Route, "name" | "resource" | "operation">) => {
  const [folder = "", file = ""] = name.split("/");
  const [verb = "", ...rest] = file.split("-");
  return verb + pascal(operation === "index" ? folder : resource) + pascal(rest.join("-"));
};

export const tags = {
  request_attachment: {
    name: "Request attachments",
    description: "Supporting files of one request within an order.",
  },
  order_attachment: {
    name: "Order attachments",
    description: "Supporting files of a whole order, available to each of its requests.",
  },
  switch: {
    name: "Switches",
    description: "Configurations of how inbound SMS and MMS messages are authenticated and delivered.",
  },
} as const satisfies Record<ResourceType, { name: string; description: string }>;
