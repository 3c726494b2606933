import { single } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { switchGuard } from "../../shared/http/switch-guards.ts";
import { showSwitch as route } from "../../shared/routes.ts";
import { switchDocument } from "../../shared/switches.ts";

export const handler = endpoint(route, switchGuard(route), ({ current }) =>
  single(switchDocument(current), current.version),
);
