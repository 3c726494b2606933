import { notFound, permissionMissing, unauthorized } from "../errors.ts";
import { ownPermission, type Route } from "../routes.ts";
import type { AccessCheck, PathId, Principal } from "../tenants/access.ts";
import { readAccount, readCountedAccount } from "../tenants/accounts.ts";
import { type Account, canAccess, hasPermission } from "../tenants/schema.ts";
import { readSwitch } from "./read.ts";
import type { Switch } from "./schema.ts";

/** Access checks for switches: the account in the path, if there is one, then the permission, then the switch. */

type SwitchRoute = Route & { readonly resource: "switch" };
type ItemRoute = SwitchRoute & { readonly operation: "show" | "update" | "delete" };

const requirePermission = (route: SwitchRoute, { user }: Principal): void => {
  const permission = ownPermission(route);
  if (!hasPermission(user, permission)) throw permissionMissing(permission);
};

type OwnAccount<O> = AccessCheck<
  SwitchRoute & { readonly parent: null; readonly operation: O },
  Account | undefined,
  { readonly account: Account }
>;

const admitOwnAccount: OwnAccount<"index" | "create">["admit"] = (account, principal, route) => {
  if (!account) throw unauthorized();
  requirePermission(route, principal);
  return { account };
};

/** For creating a switch in the API key's own account. */
export const ownAccount: OwnAccount<"create"> = {
  load: async ({ apiKey }) => {
    const own = (await apiKey)?.account;
    return own === undefined ? undefined : readAccount(own);
  },
  admit: admitOwnAccount,
};

/** For listing the switches of the API key's own account. Loads their exact number. */
export const ownCountedAccount: OwnAccount<"index"> = {
  load: async ({ apiKey }) => {
    const own = (await apiKey)?.account;
    return own === undefined ? undefined : readCountedAccount(own);
  },
  admit: admitOwnAccount,
};

type AccountInPath<O> = AccessCheck<
  SwitchRoute & { readonly parent: "account"; readonly operation: O },
  { readonly accountId: PathId; readonly account: Account | undefined },
  { readonly account: Account }
>;

const admitAccountInPath: AccountInPath<"index" | "create">["admit"] = ({ accountId, account }, principal, route) => {
  if (!account || !canAccess(principal.apiKey.account, account)) throw notFound("account", accountId.requestedId);
  requirePermission(route, principal);
  return { account };
};

/** For creating a switch in the account in the path, which is the API key's own or one below it. */
export const accountInPath: AccountInPath<"create"> = {
  load: async ({ pathId }) => {
    const accountId = pathId("account_id");
    return { accountId, account: await readAccount(accountId.id) };
  },
  admit: admitAccountInPath,
};

/** For listing the switches of the account in the path. Loads their exact number. */
export const countedAccountInPath: AccountInPath<"index"> = {
  load: async ({ pathId }) => {
    const accountId = pathId("account_id");
    return { accountId, account: await readCountedAccount(accountId.id) };
  },
  admit: admitAccountInPath,
};

/** For showing, updating and deleting one switch. */
export const oneSwitch: AccessCheck<
  ItemRoute,
  { readonly switchId: PathId; readonly found: Switch | undefined },
  { readonly current: Switch }
> = {
  load: async ({ pathId }) => {
    const switchId = pathId("id");
    return { switchId, found: await readSwitch(switchId.id) };
  },
  admit: ({ switchId, found }, principal, route) => {
    requirePermission(route, principal);
    if (!found || !canAccess(principal.apiKey.account, { id: found.account, ancestors: found.ancestors }))
      throw notFound("switch", switchId.requestedId);
    return { current: found };
  },
};
