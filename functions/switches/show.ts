import { endpoint } from "../../shared/http/endpoint.ts";
import { documentReply } from "../../shared/http/responses.ts";
import { oneSwitch } from "../../shared/switches/access.ts";
import { includedAccount } from "../../shared/switches/read.ts";
import { showSwitchRoute } from "../../shared/switches/routes.ts";
import { switchDocument } from "../../shared/switches/switch-schema.ts";

export const handler = endpoint(showSwitchRoute, oneSwitch, async ({ current, input }) => {
  const included = await includedAccount(current, input.include);
  return documentReply(switchDocument(current, included), current.version, { included });
});
