import { list } from "../../shared/http/answers.ts";
import { endpoint } from "../../shared/http/endpoint.ts";
import { listSwitches as route } from "../../shared/routes.ts";
import { switchListGuard } from "../../shared/switches/access.ts";
import { switchDocument } from "../../shared/switches/switches.ts";

export const handler = endpoint(route, switchListGuard(route), ({ page, total }) => list(page, total, switchDocument));
