import { single } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { updateSwitch as route } from "../../shared/routes.ts";
import { switchGuard } from "../../shared/switches/access.ts";
import { switchDocument, updateSwitch } from "../../shared/switches/switches.ts";

export const handler = endpoint(route, switchGuard(route), async ({ current, input, now, precondition }) => {
  const updated = await updateSwitch(current, input.data, now, precondition);
  return single(switchDocument(updated), updated.version);
});
