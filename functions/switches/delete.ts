import { single } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { deleteSwitch as route } from "../../shared/routes.ts";
import { switchGuard } from "../../shared/switches/access.ts";
import { deleteSwitch, switchDocument } from "../../shared/switches/switches.ts";

export const handler = endpoint(route, switchGuard(route), async ({ current, precondition }) => {
  const deleted = await deleteSwitch(current, precondition);
  return single(switchDocument(deleted), deleted.version);
});
