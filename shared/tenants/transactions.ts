import { type Item, keyIn, type Write } from "../table/expressions.ts";
import { transact } from "../table/write.ts";

/** The writes for one entry of a file, which share a transaction, and the item that they change. */
export type EntryWrites = { readonly writes: readonly Write[]; readonly stored?: Item };

/** DynamoDB's limit on the writes of one transaction. */
const transactionSize = 100;

/** DynamoDB's limit is 4 MB of items, including the items that they replace. */
const transactionBytes = 4_000_000;

/** Returns more than DynamoDB counts, because JSON contains every name, and escapes and quotes every text. */
const bytesOf = ({ writes, stored }: EntryWrites) => Buffer.byteLength(JSON.stringify([writes, stored]));

const keyOf = (write: Write): string => {
  const { pk, sk } = keyIn(write);
  return `${pk} ${sk}`;
};

type Transaction<E> = { readonly entries: E[]; readonly writes: Map<string, Write>; bytes: number };

/**
 * Groups entries into transactions. A transaction has one write for an item. So it increments an order's version once, and checks
 * no account that it creates or changes.
 */
const transactionsOf = <E extends EntryWrites>(entries: readonly E[]): Transaction<E>[] => {
  const all: Transaction<E>[] = [];
  for (const one of entries) {
    const bytes = bytesOf(one);
    let last = all.at(-1);
    const isFull = (of: Transaction<E>) =>
      of.writes.size + one.writes.length > transactionSize || of.bytes + bytes > transactionBytes;
    if (!last || isFull(last)) {
      last = { entries: [], writes: new Map(), bytes: 0 };
      all.push(last);
    }
    last.entries.push(one);
    last.bytes += bytes;
    for (const write of one.writes) {
      const earlier = last.writes.get(keyOf(write));
      if (!earlier || "check" in earlier) last.writes.set(keyOf(write), write);
    }
  }
  return all;
};

type Failure<E> = { readonly written: readonly E[]; readonly cause?: unknown };

/**
 * Writes all entries. If a write fails, returns the entries written before it. Returns the cause, too, unless only a condition
 * failed. `signal` ends the writes between two transactions.
 */
export const writeAll = async <E extends EntryWrites>(
  entries: readonly E[],
  signal?: AbortSignal,
): Promise<Failure<E> | undefined> => {
  const written: E[] = [];
  for (const transaction of transactionsOf(entries)) {
    if (signal?.aborted) return { written };
    try {
      const unmet = transaction.writes.size > 0 && (await transact(Object.fromEntries(transaction.writes)));
      if (unmet) return { written };
    } catch (cause) {
      return { written, cause };
    }
    for (const entry of transaction.entries) written.push(entry);
  }
  return undefined;
};
