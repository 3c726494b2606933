import * as z from "zod/mini";
import { noId, Ulid } from "../schema/fields.ts";
import { collections, keys } from "../table/keys.ts";
import { fitting, type Page, type PageRequest, pageRequest, readPage } from "../table/pages.ts";
import { get, getMany, parseItem, parseReadable, queryAll } from "../table/read.ts";
import type { PageReader } from "../tenants/access.ts";
import { Switch, switchDocument } from "./schema.ts";

/** One switch; undefined where there is none. */
export const readSwitch = async (id: string): Promise<Switch | undefined> => {
  const item = await get(keys.switch(id));
  return item && parseItem(Switch, item);
};

/**
 * Lambda's limit of a response, less 64 KiB for the page's envelope and the headers. What counts is the response object
 * as JSON, in which the body is a string: its quotes, backslashes and control characters are escaped once more.
 * Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const maxPageBytes = 6_291_556 - 65_536;

/** DynamoDB's limit of keys in one BatchGetItem. */
const maxBatch = 100;

const Entry = z.object({ id: Ulid });

const sizeOf = (one: Switch) => Buffer.byteLength(JSON.stringify(JSON.stringify(switchDocument(one))));

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
export const readSwitchPage = async (account: string, asked: PageRequest): Promise<Page<Switch>> => {
  const list = collections.switches(account);
  const entries = await readPage(list, asked, Entry);
  const items = await readSwitches(entries.items.map(({ id }) => id));
  return fitting(list, asked, { ...entries, items }, sizeOf, maxPageBytes);
};

/** The page that a query asks for, of the switches of the key's own account and of every account below it. */
export const switchPage: PageReader<unknown, Page<Switch>> = async ({ key }, query) => {
  const account = (await key)?.account ?? noId;
  return readSwitchPage(account, pageRequest(collections.switches(account), query));
};

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
