import { notFound, permissionMissing, unauthorized } from "../errors.ts";
import type { Route } from "../route.ts";
import type { AccessCheck, Attempt, Found, PathId } from "../tenants/access.ts";
import { readAccount, readCountedAccount } from "../tenants/accounts.ts";
import { type Account, hasPermission } from "../tenants/tenant-schema.ts";
import { readSwitch, readSwitchOwner } from "./read.ts";
import type { Switch } from "./switch-schema.ts";

/** Access checks for switches. They check the account in the path, if there is one, then the permission, then the switch. */

type SwitchRoute = Route & { readonly resource: "switch" };
type CollectionRoute = SwitchRoute & { readonly operation: "index" | "create" };
type ItemRoute = SwitchRoute & { readonly operation: "show" | "update" | "delete" };

const requirePermission = ({ route: { permission }, user, note }: Attempt<SwitchRoute>) => {
  note("the user has the permission", permission);
  if (!hasPermission(user, permission)) throw permissionMissing(permission);
};

type Admitted<T> = T & { readonly owner: string };

type FoundAccount = Found & { readonly accountId: PathId | undefined };

/**
 * For listing the switches of an account, and creating one in it. This is the account in the path or, without one, the API key's
 * own.
 */
const accountReadBy = <A extends Account>(
  read: (id: string) => Promise<A | undefined>,
): AccessCheck<CollectionRoute, FoundAccount, A | undefined, Admitted<{ readonly account: A }>> => ({
  find: async ({ pathId, apiKey }, { parent }) => {
    if (!parent) return { accountId: undefined, owner: { id: (await apiKey).account, ancestors: [] } };
    const accountId = pathId("account_id");
    return { accountId, owner: accountId.id ? await readAccount(accountId.id) : undefined };
  },
  load: ({ owner }) => read(owner.id),
  admit: ({ accountId, owner }, account, attempt) => {
    const { apiKey, note } = attempt;
    if (accountId) {
      note("the account exists", accountId.requestedId);
      if (!owner) throw notFound("account", accountId.requestedId);
    }
    note("the account is the key's or below it", owner?.id ?? apiKey.account);
    if (!account) throw accountId ? notFound("account", accountId.requestedId) : unauthorized();
    requirePermission(attempt);
    return { account, owner: account.id };
  },
});

export const accountOfSwitches = accountReadBy(readAccount);
/** A list returns the exact number of its switches. */
export const countedAccountOfSwitches = accountReadBy(readCountedAccount);

type FoundSwitch = Found & { readonly switchId: PathId };

export const oneSwitch: AccessCheck<
  ItemRoute,
  FoundSwitch,
  Switch | undefined,
  Admitted<{ readonly current: Switch }>
> = {
  find: async ({ pathId }) => {
    const switchId = pathId("id");
    return { switchId, owner: switchId.id ? await readSwitchOwner(switchId.id) : undefined };
  },
  load: async ({ switchId, owner }) => {
    const [found, account] = await Promise.all([
      switchId.id ? readSwitch(switchId.id) : undefined,
      readAccount(owner.id),
    ]);
    return account && found;
  },
  admit: ({ switchId, owner }, current, attempt) => {
    const { note } = attempt;
    requirePermission(attempt);
    note("the switch exists", switchId.requestedId);
    if (!owner) throw notFound("switch", switchId.requestedId);
    note("the switch's account is the key's or below it", owner.id);
    if (!current) throw notFound("switch", switchId.requestedId);
    return { current, owner: current.account };
  },
};
