import { notFound, permissionMissing, unauthorized } from "../errors.ts";
import type { Route } from "../route.ts";
import type { AccessCheck, PathId, Principal } from "../tenants/access.ts";
import { readAccount, readCountedAccount } from "../tenants/accounts.ts";
import { type Account, canAccess, hasPermission } from "../tenants/tenant-schema.ts";
import { readSwitch } from "./read.ts";
import type { Switch } from "./switch-schema.ts";

/** Access checks for switches: the account in the path, if there is one, then the permission, then the switch. */

type SwitchRoute = Route & { readonly resource: "switch" };
type CollectionRoute = SwitchRoute & { readonly operation: "index" | "create" };
type ItemRoute = SwitchRoute & { readonly operation: "show" | "update" | "delete" };

const requirePermission = (route: SwitchRoute, { user }: Principal): void => {
  if (!hasPermission(user, route.permission)) throw permissionMissing(route.permission);
};

type Scope = { readonly owner: string };

type FoundAccount = { readonly accountId: PathId | undefined; readonly account: Account | undefined };

/**
 * For listing the switches of an account, and creating one in it: the account in the path or, without one, the API key's own. The
 * account in the path is the API key's own or one below it; any other is loaded as undefined.
 */
export const accountOfSwitches: AccessCheck<CollectionRoute, FoundAccount, Scope & { readonly account: Account }> = {
  load: async ({ pathId, apiKey }, { parent, operation }) => {
    // A list needs the exact number of its switches.
    const read = operation === "index" ? readCountedAccount : readAccount;
    const accountId = parent ? pathId("account_id") : undefined;
    if (accountId && accountId.id === undefined) throw notFound("account", accountId.requestedId);
    const [named, caller] = await Promise.all([accountId?.id && read(accountId.id), apiKey]);
    if (!accountId) return { accountId, account: caller && (await read(caller.account)) };
    return { accountId, account: named && caller && canAccess(caller.account, named) ? named : undefined };
  },
  admit: ({ accountId, account }, principal, route) => {
    if (!account) throw accountId ? notFound("account", accountId.requestedId) : unauthorized();
    requirePermission(route, principal);
    return { account, owner: account.id };
  },
};

export const oneSwitch: AccessCheck<
  ItemRoute,
  { readonly switchId: PathId; readonly found: Switch | undefined },
  Scope & { readonly current: Switch }
> = {
  load: async ({ pathId }) => {
    const switchId = pathId("id");
    return { switchId, found: switchId.id ? await readSwitch(switchId.id) : undefined };
  },
  admit: ({ switchId, found }, principal, route) => {
    requirePermission(route, principal);
    if (!found || !canAccess(principal.apiKey.account, { id: found.account, ancestors: found.ancestors }))
      throw notFound("switch", switchId.requestedId);
    return { current: found, owner: found.account };
  },
};
