import { endpoint } from "../../shared/http/endpoint.ts";
import { createdReply } from "../../shared/http/responses.ts";
import { accountOfSwitches } from "../../shared/switches/access.ts";
import { createSwitchUnderAccountRoute as route } from "../../shared/switches/routes.ts";
import { switchDocument } from "../../shared/switches/switch-schema.ts";
import { createSwitch } from "../../shared/switches/switches.ts";

export const handler = endpoint(route, accountOfSwitches, async ({ account, input, origin, idempotency }) => {
  const { created, replayed } = await createSwitch(account, input.data, origin, idempotency);
  return createdReply(switchDocument(created), created, replayed);
});
