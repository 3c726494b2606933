import type { Item } from "./expressions.ts";
import type { Key } from "./keys.ts";

/** A violation must never occur. A notice may occur temporarily: the sweep or a repeated call resolves it. */
export type Finding = {
  readonly level: "violation" | "notice";
  readonly rule: string;
  /** The key of the item or the file. */
  readonly at: string;
  readonly detail: string;
};

/** All items and files at one time. */
export type Snapshot = {
  readonly items: readonly (Item & Key)[];
  readonly item: (key: Key) => Item | undefined;
  readonly files: ReadonlyMap<string, Date>;
  readonly now: Date;
};

export const keyText = ({ pk, sk }: Key): string => (pk === sk ? pk : `${pk} ${sk}`);

export const snapshot = (
  items: readonly Item[],
  files: readonly { readonly key: string; readonly storedAt: Date }[],
  now: Date,
): Snapshot => {
  const keyed = items.map((item) => ({ ...item, pk: String(item.pk), sk: String(item.sk) }));
  const byKey = new Map(keyed.map((item) => [keyText(item), item]));
  return {
    items: keyed,
    item: (key) => byKey.get(keyText(key)),
    files: new Map(files.map(({ key, storedAt }) => [key, storedAt])),
    now,
  };
};

export const violation = (rule: string, at: string, detail: string): Finding => ({
  level: "violation",
  rule,
  at,
  detail,
});

/** Counts how often each name occurs. */
export const tally = (names: Iterable<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
};
