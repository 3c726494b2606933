import { single } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { createSwitchUnderAccount as route } from "../../shared/routes.ts";
import { accountGuard } from "../../shared/switches/access.ts";
import { createSwitch, switchDocument } from "../../shared/switches/switches.ts";

export const handler = endpoint(route, accountGuard(route), async ({ account, input, now, idempotency }) => {
  const { made, replayed } = await createSwitch(account, input.data, now, idempotency);
  return single(switchDocument(made), made.version, replayed);
});
