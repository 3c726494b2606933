import { listEndpoint } from "../../shared/http/endpoint.ts";
import { listReply } from "../../shared/http/responses.ts";
import { listSwitchesUnderAccount as route } from "../../shared/routes.ts";
import { countedAccountInPath } from "../../shared/switches/access.ts";
import { switchPageInPath } from "../../shared/switches/read.ts";
import { switchDocument } from "../../shared/switches/schema.ts";

export const handler = listEndpoint(route, countedAccountInPath, switchPageInPath, ({ account, page }) =>
  listReply(page, account.switch_count, (item) => switchDocument(item, item.included)),
);
