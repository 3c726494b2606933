import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";
import { oneSwitch } from "../../shared/switches/access.ts";
import { updateSwitchRoute } from "../../shared/switches/routes.ts";
import { switchDocument } from "../../shared/switches/switch-schema.ts";
import { updateSwitch } from "../../shared/switches/switches.ts";

export const handler = endpoint(updateSwitchRoute, oneSwitch, async ({ current, input, origin, precondition }) => {
  const updated = await updateSwitch(current, input.data, origin, precondition);
  return documentReply(switchDocument(updated), updated.version);
});
