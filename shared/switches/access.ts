import { notFound, permissionMissing, unauthorized } from "../errors.ts";
import { ownPermission, type Route } from "../routes.ts";
import type { AccessCheck, PathId, Principal } from "../tenants/access.ts";
import { readAccount, readCountedAccount } from "../tenants/accounts.ts";
import { type Account, canAccess, hasPermission } from "../tenants/schema.ts";
import { readSwitch } from "./read.ts";
import type { Switch } from "./schema.ts";

/** Access to switches: the account in the path, if there is one, then the permission, then the switch. */

type SwitchRoute = Route & { readonly resource: "switch" };
type OnOne = SwitchRoute & { readonly operation: "show" | "update" | "delete" };

const permit = (route: SwitchRoute, { user }: Principal): void => {
  const permission = ownPermission(route);
  if (!hasPermission(user, permission)) throw permissionMissing(permission);
};

type OwnAccount<O> = AccessCheck<
  SwitchRoute & { readonly parent: null; readonly operation: O },
  Account | undefined,
  { readonly account: Account }
>;

const admitToOwn: OwnAccount<"index" | "create">["admit"] = (account, principal, route) => {
  if (!account) throw unauthorized();
  permit(route, principal);
  return { account };
};

/** For creating in the key's own account. */
export const ownAccount: OwnAccount<"create"> = {
  load: async ({ key }) => {
    const own = (await key)?.account;
    return own === undefined ? undefined : readAccount(own);
  },
  admit: admitToOwn,
};

/** For listing the key's own account: with the exact count of its switches. */
export const ownCountedAccount: OwnAccount<"index"> = {
  load: async ({ key }) => {
    const own = (await key)?.account;
    return own === undefined ? undefined : readCountedAccount(own);
  },
  admit: admitToOwn,
};

type AccountInPath<O> = AccessCheck<
  SwitchRoute & { readonly parent: "account"; readonly operation: O },
  { readonly accountId: PathId; readonly account: Account | undefined },
  { readonly account: Account }
>;

const admitToPath: AccountInPath<"index" | "create">["admit"] = ({ accountId, account }, principal, route) => {
  if (!account || !canAccess(principal.key.account, account)) throw notFound("account", accountId.requestedId);
  permit(route, principal);
  return { account };
};

/** For creating in the account in the path: the key's own or one below it. */
export const accountInPath: AccountInPath<"create"> = {
  load: async ({ pathId }) => {
    const accountId = pathId("account_id");
    return { accountId, account: await readAccount(accountId.id) };
  },
  admit: admitToPath,
};

/** For listing the account in the path: with the exact count of its switches. */
export const countedAccountInPath: AccountInPath<"index"> = {
  load: async ({ pathId }) => {
    const accountId = pathId("account_id");
    return { accountId, account: await readCountedAccount(accountId.id) };
  },
  admit: admitToPath,
};

/** For one switch. */
export const oneSwitch: AccessCheck<
  OnOne,
  { readonly switchId: PathId; readonly found: Switch | undefined },
  { readonly current: Switch }
> = {
  load: async ({ pathId }) => {
    const switchId = pathId("id");
    return { switchId, found: await readSwitch(switchId.id) };
  },
  admit: ({ switchId, found }, principal, route) => {
    permit(route, principal);
    if (!found || !canAccess(principal.key.account, { id: found.account, ancestors: found.ancestors }))
      throw notFound("switch", switchId.requestedId);
    return { current: found };
  },
};
