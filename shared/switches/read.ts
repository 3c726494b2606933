import * as z from "zod/mini";
import { lambdaResponseBytes } from "../limits.ts";
import { type PageQuery, Ulid } from "../schema/fields.ts";
import { collections, keys } from "../table/keys.ts";
import { type Page, pageRequest, readPage, truncatePage } from "../table/pages.ts";
import { getMany, parseReadable, readItem } from "../table/read.ts";
import type { Accessible, Found, Owner } from "../tenants/access.ts";
import { readAccount } from "../tenants/accounts.ts";
import { Switch, switchDocument } from "./switch-schema.ts";

const SwitchOwner = z.pick(Switch, { account: true, ancestors: true });

/** Returns the account that owns a switch. This takes one read unit, where a switch can take ten. */
export const readSwitchOwner = async (id: string): Promise<Owner | undefined> => {
  const found = await readItem(SwitchOwner, keys.switchOwner(id));
  return found && { id: found.account, ancestors: found.ancestors };
};

export const readSwitch = (id: string): Promise<Switch | undefined> => readItem(Switch, keys.switch(id));

/** Reserves 64 KiB for the page's envelope and the headers. */
const maxPageBytes = lambdaResponseBytes - 65_536;

/** An entry in the list of an account. */
export const SwitchEntry = z.object({ id: Ulid });

const sizeOf = (one: ListedSwitch) =>
  Buffer.byteLength(JSON.stringify(JSON.stringify(switchDocument(one, one.included))));

type ListedSwitch = Switch & { readonly included: object };

type Include = readonly "account"[] | undefined;

/** All accounts of a page are read in one round trip, because these reads start in the same turn. */
export const includedAccount = async ({ account }: Switch, include: Include): Promise<object> => {
  const owner = include?.includes("account") ? await readAccount(account) : undefined;
  return owner ? { account: { type: "account", data: { id: owner.id, name: owner.name } } } : {};
};

/** Reads switches. Leaves out those that were deleted after their entries were read. */
export const readSwitches = async (ids: readonly string[]): Promise<Switch[]> =>
  parseReadable(Switch, await getMany(ids.map((id) => keys.switch(id))));

type Query = PageQuery & { readonly include?: Include };

/**
 * Reads a page of the switches of an account and all accounts below it. Takes two round trips, however many accounts there are. The
 * first reads the entries of the account's list, the second the switches. A page that would exceed Lambda's limit ends early.
 */
export const switchPage = async ({ owner }: Accessible<Found>, query: Query): Promise<Page<ListedSwitch>> => {
  const list = collections.switches(owner.id);
  const request = pageRequest(list, query);
  const entries = await readPage(list, request, SwitchEntry);
  const switches = await readSwitches(entries.items.map(({ id }) => id));
  const items = await Promise.all(
    switches.map(async (one) => ({ ...one, included: await includedAccount(one, query.include) })),
  );
  return truncatePage(list, request, { ...entries, items }, sizeOf, maxPageBytes);
};
