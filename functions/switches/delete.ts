import { single } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { switchGuard } from "../../shared/http/switch-guards.ts";
import { deleteSwitch as route } from "../../shared/routes.ts";
import { deleteSwitch, switchDocument } from "../../shared/switches.ts";

export const handler = endpoint(route, switchGuard(route), async ({ current, precondition }) => {
  const deleted = await deleteSwitch(current, precondition);
  return single(switchDocument(deleted), deleted.version);
});
