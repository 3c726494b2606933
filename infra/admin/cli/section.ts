import { type Collection, keys } from "../../../shared/table/keys.ts";
import { getMany, parseItem, query } from "../../../shared/table/read.ts";
import { Account } from "../../../shared/tenants/tenant-schema.ts";
import type { Row } from "./output.ts";
import { formatCount } from "./progress.ts";

/** The beginning of a list, newest first, as the command `today` and the console show it. */
export type Section = {
  readonly title: string;
  /** The type of what the rows are about, each with its `id`. */
  readonly of: string;
  readonly rows: readonly Row[];
  /** How many there are. A text, such as `more than 1,000`, where nobody has counted them. */
  readonly total: number | string;
  /** The command that prints all of them. */
  readonly rest: string;
  /** What an empty list means. */
  readonly none?: string;
  /** Where the rows come from. */
  readonly note?: string;
  /** It could not be read. Its one row says why. */
  readonly isUnread?: true;
};

/** At most this many rows are shown, and this many entries counted. */
export const [maxShown, maxCounted] = [100, 1_000];

export const totalOf = (count: number, isMore: boolean): number | string =>
  isMore ? `more than ${formatCount(count)}` : count;

/** `100 of 130; the rest: `, or an empty text if all rows are shown. */
export const cutOf = (total: number | string, shown: number): string => {
  const count = typeof total === "string" ? total : formatCount(total);
  return typeof total === "string" || total > shown ? `${formatCount(shown)} of ${count}; the rest: ` : "";
};

/** The newest ids of a list, and how many it has. Reads no more entries than are counted. */
export const newestOf = async (list: Collection) => {
  const entries = await query(list, { limit: maxCounted + 1, descending: true });
  const ids = entries.slice(0, maxShown).map(({ id }) => String(id));
  return { ids, total: totalOf(Math.min(entries.length, maxCounted), entries.length > maxCounted) };
};

export const accountsById = async (ids: readonly string[]): Promise<Account[]> =>
  (await getMany(ids.map(keys.account))).flatMap((item) => (item ? [parseItem(Account, item)] : []));
