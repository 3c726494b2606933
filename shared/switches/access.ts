import type { APIGatewayProxyEvent } from "aws-lambda";
import { invalid, notFound, permissionMissing, unauthorized } from "../errors.ts";
import { type Guard, type Principal, pathId } from "../http/request.ts";
import { ownPermission, type Route } from "../routes.ts";
import { collections } from "../table/keys.ts";
import type { Page } from "../table/page-query.ts";
import { pageRequest } from "../table/pages.ts";
import { holds, readAccount, sees } from "../tenants/accounts.ts";
import type { Account } from "../tenants/schema.ts";
import { readSwitchPage } from "./list.ts";
import type { Switch } from "./schema.ts";
import { readSwitch } from "./switches.ts";

/** The guards of switches: the account in the path, if there is one, then the permission, then the switch. */

const permit = (route: Route, { user }: Principal): void => {
  const permission = ownPermission(route);
  if (!holds(user, permission)) throw permissionMissing(permission);
};

/** For creating in the key's own account. */
export const ownAccountGuard =
  (route: Route): Guard<{ account: Account }> =>
  async (_event, key) => {
    const own = (await key)?.account;
    const account = own && (await readAccount(own));
    return (principal) => {
      if (!account) throw unauthorized();
      permit(route, principal);
      return { account };
    };
  };

/** For creating in the account in the path: the key's own or one below it. */
export const accountGuard =
  (route: Route): Guard<{ account: Account }> =>
  async (event) => {
    const { shown, id } = pathId(event, "account_id");
    const account = await readAccount(id);
    return (principal) => {
      if (!account || !sees(principal.key.account, account)) throw notFound("account", shown);
      permit(route, principal);
      return { account };
    };
  };

/** For one switch. */
export const switchGuard =
  (route: Route): Guard<{ current: Switch }> =>
  async (event) => {
    const { shown, id } = pathId(event, "id");
    const current = await readSwitch(id);
    return (principal) => {
      permit(route, principal);
      if (!current || !sees(principal.key.account, { id: current.account, ancestors: current.ancestors }))
        throw notFound("switch", shown);
      return { current };
    };
  };

/** For listing: the page is read as soon as the key's account is known. */
export const switchListGuard =
  (route: Route): Guard<{ page: Page<Switch>; total: number }> =>
  async (event, key) => {
    const own = (await key)?.account;
    const found = own === undefined ? undefined : await readList(own, event);
    return (principal) => {
      if (!found) throw unauthorized();
      permit(route, principal);
      if (!found.page) throw invalid(found.faults ?? []);
      return { page: found.page, total: found.account?.switch_count ?? 0 };
    };
  };

const readList = async (own: string, event: APIGatewayProxyEvent) => {
  const asked = pageRequest(collections.switches(own), event.queryStringParameters ?? {});
  const [account, page] = await Promise.all([
    readAccount(own),
    asked.faults ? undefined : readSwitchPage(own, asked.value),
  ]);
  return { account, page, faults: asked.faults };
};
