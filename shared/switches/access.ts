import { notFound, permissionMissing, unauthorized } from "../errors.ts";
import type { Route } from "../route.ts";
import type { AccessCheck, Attempt, PathId } from "../tenants/access.ts";
import { readAccount, readCountedAccount } from "../tenants/accounts.ts";
import { type Account, canAccess, hasPermission } from "../tenants/tenant-schema.ts";
import { readSwitch } from "./read.ts";
import type { Switch } from "./switch-schema.ts";

/** Access checks for switches: the account in the path, if there is one, then the permission, then the switch. */

type SwitchRoute = Route & { readonly resource: "switch" };
type CollectionRoute = SwitchRoute & { readonly operation: "index" | "create" };
type ItemRoute = SwitchRoute & { readonly operation: "show" | "update" | "delete" };

const requirePermission = ({ route: { permission }, user, note }: Attempt<SwitchRoute>) => {
  note("the user has the permission", permission);
  if (!hasPermission(user, permission)) throw permissionMissing(permission);
};

type Owner = { readonly owner: string };

/** `named` is the account in the path, `account` the one whose switches the API key can access. */
type FoundAccount<A> = {
  readonly accountId: PathId | undefined;
  readonly named: A | undefined;
  readonly account: A | undefined;
};

/**
 * For listing the switches of an account, and creating one in it: the account in the path or, without one, the API key's own. For
 * an account that the API key cannot access, reads nothing more.
 */
const accountReadBy = <A extends Account>(
  read: (id: string) => Promise<A | undefined>,
): AccessCheck<CollectionRoute, FoundAccount<A>, Owner & { readonly account: A }> => ({
  load: async ({ pathId, apiKey }, { parent }) => {
    const accountId = parent ? pathId("account_id") : undefined;
    const [named, caller] = await Promise.all([accountId?.id ? read(accountId.id) : undefined, apiKey]);
    if (!accountId) return { accountId, named, account: caller && (await read(caller.account)) };
    return { accountId, named, account: named && caller && canAccess(caller.account, named) ? named : undefined };
  },
  admit: ({ accountId, named, account }, attempt) => {
    const { apiKey, note } = attempt;
    if (accountId) {
      note("the account exists", accountId.requestedId);
      if (!named) throw notFound("account", accountId.requestedId);
    }
    note("the account is the key's or below it", named?.id ?? apiKey.account);
    if (!account) throw accountId ? notFound("account", accountId.requestedId) : unauthorized();
    requirePermission(attempt);
    return { account, owner: account.id };
  },
});

export const accountOfSwitches = accountReadBy(readAccount);
/** A list returns the exact number of its switches. */
export const countedAccountOfSwitches = accountReadBy(readCountedAccount);

export const oneSwitch: AccessCheck<
  ItemRoute,
  { readonly switchId: PathId; readonly found: Switch | undefined },
  Owner & { readonly current: Switch }
> = {
  load: async ({ pathId }) => {
    const switchId = pathId("id");
    return { switchId, found: switchId.id ? await readSwitch(switchId.id) : undefined };
  },
  admit: ({ switchId, found }, attempt) => {
    const { apiKey, note } = attempt;
    requirePermission(attempt);
    note("the switch exists", switchId.requestedId);
    if (!found) throw notFound("switch", switchId.requestedId);
    note("the switch's account is the key's or below it", found.account);
    if (!canAccess(apiKey.account, { id: found.account, ancestors: found.ancestors }))
      throw notFound("switch", switchId.requestedId);
    return { current: found, owner: found.account };
  },
};
