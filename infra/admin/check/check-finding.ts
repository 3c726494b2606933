import { createHash } from "node:crypto";
import type { Item } from "../../../shared/table/expressions.ts";
import type { Key } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";

/** A violation must never occur. A notice may occur temporarily, until the sweep or a repeated call resolves it. */
export type Finding = {
  readonly level: "violation" | "notice";
  readonly rule: string;
  /** The key of the item or the file. */
  readonly at: string;
  readonly detail: string;
};

export const violation = (rule: string, at: string, detail: string): Finding => ({
  level: "violation",
  rule,
  at,
  detail,
});

export const keyText = ({ pk, sk }: Key): string => (pk === sk ? pk : `${pk} ${sk}`);

export type StoredItem = Item & Key;

/** Compares an item or a file with others. The reads of checks that start together share calls. */
export type Check = () => Promise<readonly Finding[]>;

/** Compares an item or a file with one other item. `judge` returns true, or describes the violation. */
export const checkOf =
  (rule: string, at: string, key: Key, judge: (other: Item | undefined) => true | string): Check =>
  async () => {
    const detail = judge(await get(key));
    return detail === true ? [] : [violation(rule, at, detail)];
  };

/** Sums that are zero after a consistent read. They stay small, because zeros are removed and DynamoDB scans partition by partition. */
export type Sums = {
  /** For each partition, the stored count minus the number of items. */
  readonly counts: Map<string, number>;
  /** For each partition or day, the XOR of the hashes of all links. Both ends of a link add it, so it cancels out. */
  readonly links: Map<string, number>;
};

const change = (sums: Map<string, number>, name: string, value: number) => {
  if (value === 0) sums.delete(name);
  else sums.set(name, value);
};

export const addCount = ({ counts }: Sums, name: string, count: number): void =>
  change(counts, name, (counts.get(name) ?? 0) + count);

/** A second call with the same link undoes the first. */
export const toggleLink = ({ links }: Sums, name: string, ...link: readonly unknown[]): void =>
  change(links, name, (links.get(name) ?? 0) ^ createHash("sha256").update(link.join(" ")).digest().readInt32LE());
