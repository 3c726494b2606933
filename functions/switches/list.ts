import { endpoint, withPage } from "../../shared/http/endpoint.ts";
import { listReply } from "../../shared/http/responses.ts";
import { countedAccountOfSwitches } from "../../shared/switches/access.ts";
import { switchPage } from "../../shared/switches/read.ts";
import { listSwitchesRoutes } from "../../shared/switches/routes.ts";
import { switchDocument } from "../../shared/switches/switch-schema.ts";
import { isErasedBelow } from "../../shared/tenants/accounts.ts";

const endpointOf = (owner: "own" | "inPath") =>
  endpoint(listSwitchesRoutes[owner], withPage(countedAccountOfSwitches, switchPage), async ({ account, page }) => {
    const { items, ...others } = await page;
    const known = { ...others, items: items.filter((item) => !isErasedBelow(account, item)) };
    return listReply(known, account.switch_count, (item) => switchDocument(item, item.included));
  });

export const handler = endpointOf("own");
export const underAccount = endpointOf("inPath");
