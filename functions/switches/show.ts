import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";
import { showSwitch as route } from "../../shared/routes.ts";
import { oneSwitch } from "../../shared/switches/access.ts";
import { switchDocument } from "../../shared/switches/schema.ts";

export const handler = endpoint(route, oneSwitch, ({ current }) =>
  documentReply(switchDocument(current), current.version),
);
