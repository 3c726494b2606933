import { list } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { switchListGuard } from "../../shared/http/switch-guards.ts";
import { listSwitches as route } from "../../shared/routes.ts";
import { switchDocument } from "../../shared/switches.ts";

export const handler = endpoint(route, switchListGuard(route), ({ page, total }) => list(page, total, switchDocument));
