import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";
import { oneSwitch } from "../../shared/switches/access.ts";
import { deleteSwitchRoute } from "../../shared/switches/routes.ts";
import { switchDocument } from "../../shared/switches/switch-schema.ts";
import { deleteSwitch } from "../../shared/switches/switches.ts";

export const handler = endpoint(deleteSwitchRoute, oneSwitch, async ({ current, origin, precondition }) => {
  const deleted = await deleteSwitch(current, origin, precondition);
  return documentReply(switchDocument(deleted), deleted.version);
});
