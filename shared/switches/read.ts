import * as z from "zod/mini";
import { noId, Ulid } from "../schema/fields.ts";
import { collections, keys } from "../table/keys.ts";
import { fitting, type Page, type PageRequest, pageRequest, readPage } from "../table/pages.ts";
import { getMany, parseItem, parseReadable, queryAll, readItem } from "../table/read.ts";
import type { PageReader } from "../tenants/access.ts";
import { readAccount, readAccounts } from "../tenants/accounts.ts";
import { type Account, canAccess } from "../tenants/schema.ts";
import { Switch, type SwitchListQuery, switchDocument } from "./schema.ts";

/** One switch; undefined where there is none. */
export const readSwitch = (id: string): Promise<Switch | undefined> => readItem(Switch, keys.switch(id));

/**
 * Lambda's limit of a response, less 64 KiB for the page's envelope and the headers. What counts is the response object
 * as JSON, in which the body is a string: its quotes, backslashes and control characters are escaped once more.
 * Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const maxPageBytes = 6_291_556 - 65_536;

/** DynamoDB's limit of keys in one BatchGetItem. */
const maxBatch = 100;

const Entry = z.object({ id: Ulid });

const sizeOf = (one: ListedSwitch) =>
  Buffer.byteLength(JSON.stringify(JSON.stringify(switchDocument(one, one.included))));

/** A switch of a list, with the associations that the query asks for. */
type ListedSwitch = Switch & { readonly included: object };

type Include = readonly "account"[] | undefined;

const accountAssociation = ({ id, name }: Account) => ({ account: { type: "account", data: { id, name } } });

/** The associations of one switch that a query asks for. */
export const includedAssociations = async ({ account }: Switch, include: Include): Promise<object> => {
  const owner = include?.includes("account") ? await readAccount(account) : undefined;
  return owner ? accountAssociation(owner) : {};
};

/** The switches of a page, each with what the query asks for: the accounts of all of them in one round trip. */
const withIncluded = async (switches: readonly Switch[], include: Include): Promise<ListedSwitch[]> => {
  if (!include?.includes("account")) return switches.map((one) => ({ ...one, included: {} }));
  const accounts = await readAccounts(switches.map(({ account }) => account));
  return switches.map((one) => {
    const owner = accounts.find(({ id }) => id === one.account);
    return { ...one, included: owner ? accountAssociation(owner) : {} };
  });
};

/** The switches of up to 100 entries; one that was deleted since its entry was read is left out. */
const readSwitches = async (ids: readonly string[]): Promise<Switch[]> => {
  const found = await getMany(ids.map((id) => keys.switch(id)));
  return parseReadable(
    Switch,
    found.filter((item) => item !== undefined),
  );
};

/**
 * A page of the switches of an account and of every account below it, in two round trips whatever the tree's size:
 * the entries of the account's one list, then the switches. A page that a function could not return ends early.
 */
const readSwitchPage = async (account: string, asked: PageRequest, include?: Include): Promise<Page<ListedSwitch>> => {
  const list = collections.switches(account);
  const entries = await readPage(list, asked, Entry);
  const switches = await readSwitches(entries.items.map(({ id }) => id));
  const items = await withIncluded(switches, include);
  return fitting(list, asked, { ...entries, items }, sizeOf, maxPageBytes);
};

/** The page that a query asks for, of the switches of the key's own account and of every account below it. */
export const switchPage: PageReader<unknown, Page<ListedSwitch>, SwitchListQuery> = async ({ key }, query) =>
  pageOf((await key)?.account, query);

/**
 * The same of the account in the path. It waits until the account is known: one that the key cannot access takes the same
 * reads as one that does not exist.
 */
export const switchPageInPath: PageReader<
  unknown,
  Page<ListedSwitch>,
  SwitchListQuery,
  { readonly account: Account | undefined }
> = async ({ key }, query, _route, loaded) => {
  const [caller, { account }] = await Promise.all([key, loaded]);
  return pageOf(caller && account && canAccess(caller.account, account) ? account.id : undefined, query);
};

const pageOf = (account = noId, query: SwitchListQuery) =>
  readSwitchPage(account, pageRequest(collections.switches(account), query), query.include);

/** Every switch of an account and of every account below it, in the order of their ids, 100 at a time. */
export async function* allSwitches(account: string): AsyncGenerator<Switch> {
  let ids: string[] = [];
  for await (const entry of queryAll(collections.switches(account))) {
    ids.push(parseItem(Entry, entry).id);
    if (ids.length < maxBatch) continue;
    yield* await readSwitches(ids);
    ids = [];
  }
  yield* await readSwitches(ids);
}
