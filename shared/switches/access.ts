import { notFound, permissionMissing, unauthorized } from "../errors.ts";
import type { Route } from "../route.ts";
import type { AccessCheck, PathId, Principal } from "../tenants/access.ts";
import { readAccount, readCountedAccount } from "../tenants/accounts.ts";
import { type Account, canAccess, hasPermission } from "../tenants/schema.ts";
import { readSwitch } from "./read.ts";
import type { Switch } from "./schema.ts";

/** Access checks for switches: the account in the path, if there is one, then the permission, then the switch. */

type SwitchRoute = Route & { readonly resource: "switch" };
type CollectionRoute = SwitchRoute & { readonly operation: "index" | "create" };
type ItemRoute = SwitchRoute & { readonly operation: "show" | "update" | "delete" };

const requirePermission = (route: SwitchRoute, { user }: Principal): void => {
  if (!hasPermission(user, route.permission)) throw permissionMissing(route.permission);
};

/** `owner` is the account that owns the switches. */
type Scope = { readonly owner: string };

type FoundAccount = { readonly account: Account | undefined };

/** A list needs the exact number of its switches. */
const readAccountFor = ({ operation }: CollectionRoute) => (operation === "index" ? readCountedAccount : readAccount);

/** For listing the switches of the API key's own account, and creating one in it. */
export const ownAccount: AccessCheck<
  CollectionRoute & { readonly parent: null },
  FoundAccount,
  Scope & { readonly account: Account }
> = {
  load: async ({ apiKey }, route) => {
    const own = (await apiKey)?.account;
    return { account: own === undefined ? undefined : await readAccountFor(route)(own) };
  },
  admit: ({ account }, principal, route) => {
    if (!account) throw unauthorized();
    requirePermission(route, principal);
    return { account, owner: account.id };
  },
};

/**
 * For listing the switches of the account in the path, and creating one in it. The account is the API key's own or one below
 * it; any other is loaded as undefined.
 */
export const accountInPath: AccessCheck<
  CollectionRoute & { readonly parent: "account" },
  FoundAccount & { readonly accountId: PathId },
  Scope & { readonly account: Account }
> = {
  load: async ({ pathId, apiKey }, route) => {
    const accountId = pathId("account_id");
    const [account, caller] = await Promise.all([readAccountFor(route)(accountId.id), apiKey]);
    return { accountId, account: account && caller && canAccess(caller.account, account) ? account : undefined };
  },
  admit: ({ accountId, account }, principal, route) => {
    if (!account) throw notFound("account", accountId.requestedId);
    requirePermission(route, principal);
    return { account, owner: account.id };
  },
};

/** For showing, updating and deleting one switch. */
export const oneSwitch: AccessCheck<
  ItemRoute,
  { readonly switchId: PathId; readonly found: Switch | undefined },
  Scope & { readonly current: Switch }
> = {
  load: async ({ pathId }) => {
    const switchId = pathId("id");
    return { switchId, found: await readSwitch(switchId.id) };
  },
  admit: ({ switchId, found }, principal, route) => {
    requirePermission(route, principal);
    if (!found || !canAccess(principal.apiKey.account, { id: found.account, ancestors: found.ancestors }))
      throw notFound("switch", switchId.requestedId);
    return { current: found, owner: found.account };
  },
};
