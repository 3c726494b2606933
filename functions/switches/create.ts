import { endpoint } from "../../shared/http/endpoint.ts";
import { createdReply } from "../../shared/http/responses.ts";
import { accountOfSwitches } from "../../shared/switches/access.ts";
import { createSwitchRoutes } from "../../shared/switches/routes.ts";
import { switchDocument } from "../../shared/switches/switch-schema.ts";
import { createSwitch } from "../../shared/switches/switches.ts";

const endpointOf = (owner: "own" | "inPath") =>
  endpoint(createSwitchRoutes[owner], accountOfSwitches, async ({ account, input, origin, idempotency }) => {
    const { created, replayed } = await createSwitch(account, input.data, origin, idempotency);
    return createdReply(switchDocument(created), created, replayed);
  });

export const handler = endpointOf("own");
export const underAccount = endpointOf("inPath");
