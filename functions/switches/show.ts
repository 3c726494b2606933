import { single } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { showSwitch as route } from "../../shared/routes.ts";
import { switchGuard } from "../../shared/switches/access.ts";
import { switchDocument } from "../../shared/switches/switches.ts";

export const handler = endpoint(route, switchGuard(route), ({ current }) =>
  single(switchDocument(current), current.version),
);
