import { listEndpoint } from "../../shared/http/endpoint.ts";
import { listReply } from "../../shared/http/responses.ts";
import { listSwitches as route } from "../../shared/routes.ts";
import { ownCountedAccount } from "../../shared/switches/access.ts";
import { switchPage } from "../../shared/switches/read.ts";
import { switchDocument } from "../../shared/switches/schema.ts";

export const handler = listEndpoint(route, ownCountedAccount, switchPage, ({ account, page }) =>
  listReply(page, account.switch_count, (item) => switchDocument(item, item.included)),
);
