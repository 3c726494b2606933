import { BatchGetCommand, GetCommand, paginateScan, QueryCommand, type ScanCommandInput } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { currentDeadline, type Deadline } from "../deadline.ts";
import { env } from "../env.ts";
import { unavailableAs503 } from "../errors.ts";
import { log } from "../log.ts";
import { backOff, dynamodb } from "./client.ts";
import type { Item } from "./expressions.ts";
import { type Collection, type Key, lookupIndex, lookupOf } from "./keys.ts";

/** The error for an item that is damaged, or that a newer release has written. It contains the item's key but no values. */
export class UnreadableItem extends Error {
  override readonly name = "UnreadableItem";
}

/** Parses an item with its schema. Throws an UnreadableItem if it cannot be parsed. */
export const parseItem = <S extends z.core.$ZodType>(schema: S, item: Item | undefined): z.output<S> => {
  const { data, error } = z.safeParse(schema, item);
  if (!error) return data;
  const problems = error.issues.map(({ path, code }) => `${path.join(".")} ${code}`).join(", ");
  throw new UnreadableItem(`The item ${item?.pk} ${item?.sk} cannot be read: ${problems}`);
};

/** What is done about an item that is left out because it cannot be read. Functions log it. */
let report = (error: UnreadableItem): void => log.failure("unreadable item", { error }, { isOwn: true });

/** Replaces what is done about items that cannot be read, for a program that prints them. Returns what was done before. */
export const reportUnreadable = (to: typeof report): typeof report => {
  const before = report;
  report = to;
  return before;
};

/** Catches the error of an item that cannot be read, and reports it, so that one such item stops nothing else. */
export const leaveOut = (error: unknown): undefined => {
  if (!(error instanceof UnreadableItem)) throw error;
  report(error);
};

/**
 * Parses the items that exist. Leaves out and reports those that cannot be parsed, so that one damaged item does not break a list.
 */
export const parseReadable = <S extends z.core.$ZodType>(
  schema: S,
  items: readonly (Item | undefined)[],
): z.output<S>[] =>
  items.flatMap((item) => {
    try {
      return item ? [parseItem(schema, item)] : [];
    } catch (error) {
      leaveOut(error);
      return [];
    }
  });

/** The reads that started in the same turn, by their request's deadline, so that no read waits for another request's. */
const batches = new Map<Deadline | undefined, { readonly wanted: Map<string, Key>; readonly found: Promise<Found> }>();
type Found = ReadonlyMap<string, Item>;

const nameOf = ({ pk, sk }: Item | Key): string => JSON.stringify([pk, sk]);

/**
 * Returns one item, strongly consistent, if it exists. This and all functions below throw 503 if DynamoDB is unavailable. Reads
 * that start in the same turn share one call, wherever they are in the code.
 */
export const get = async (key: Key): Promise<Item | undefined> => {
  const deadline = currentDeadline();
  let batch = batches.get(deadline);
  if (!batch) {
    const wanted = new Map<string, Key>();
    batch = { wanted, found: endOfTurn().then(() => readBatches(deadline, wanted)) };
    batches.set(deadline, batch);
  }
  const name = nameOf(key);
  batch.wanted.set(name, key);
  return (await batch.found).get(name);
};

/** Resolves when no promise callback is left to run. A tick that is scheduled outside a promise would run before all of them. */
const endOfTurn = async () => {
  await undefined;
  await new Promise<void>((resolve) => process.nextTick(resolve));
};

/** DynamoDB's limit on the keys of one BatchGetItem. */
const maxBatch = 100;
/** The client has 50 connections, and the time that a call waits for one counts towards its timeout. */
const batchesAtOnce = 10;

const readBatches = async (deadline: Deadline | undefined, wanted: ReadonlyMap<string, Key>): Promise<Found> => {
  batches.delete(deadline);
  const all = [...wanted.values()];
  const found = new Map<string, Item>();
  while (all.length > 0) {
    const parts = Array.from({ length: batchesAtOnce }, () => all.splice(0, maxBatch)).filter(
      ({ length }) => length > 0,
    );
    for (const item of (await Promise.all(parts.map(readBatch))).flat()) found.set(nameOf(item), item);
  }
  return found;
};

const readBatch = async (wanted: readonly Key[]): Promise<Item[]> => {
  const table = env.tableName();
  const [key] = wanted;
  if (key && wanted.length === 1) {
    const command = new GetCommand({ TableName: table, Key: key, ConsistentRead: true });
    const { Item } = await dynamodb().send(command).catch(unavailableAs503);
    return Item ? [Item] : [];
  }
  const found: Item[] = [];
  let remaining: readonly Item[] = wanted;
  for (let attempt = 1; ; attempt += 1) {
    const RequestItems = { [table]: { Keys: [...remaining], ConsistentRead: true } };
    const command = new BatchGetCommand({ RequestItems });
    const { Responses, UnprocessedKeys } = await dynamodb().send(command).catch(unavailableAs503);
    for (const item of Responses?.[table] ?? []) found.push(item);
    remaining = UnprocessedKeys?.[table]?.Keys ?? [];
    if (remaining.length === 0) return found;
    await backOff(attempt, new Error("dynamodb BatchGetItem left keys unprocessed."));
  }
};

export const getMany = (wanted: readonly Key[]): Promise<(Item | undefined)[]> => Promise.all(wanted.map(get));

export const readItem = async <S extends z.core.$ZodType>(schema: S, key: Key): Promise<z.output<S> | undefined> => {
  const item = await get(key);
  return item && parseItem(schema, item);
};

type Range = { readonly after?: string | undefined; readonly limit: number; readonly descending?: boolean };

/** Returns up to `limit` items of a collection after the id `after`, which need not exist. */
export const query = async (
  { pk, prefix }: Collection,
  { after, limit, descending = false }: Range,
): Promise<Item[]> => {
  const items: Item[] = [];
  let start: Record<string, unknown> | undefined = after === undefined ? undefined : { pk, sk: prefix + after };
  do {
    const command = new QueryCommand({
      TableName: env.tableName(),
      ...(prefix === ""
        ? { KeyConditionExpression: "pk = :pk", ExpressionAttributeValues: { ":pk": pk } }
        : {
            KeyConditionExpression: "pk = :pk AND begins_with(sk, :prefix)",
            ExpressionAttributeValues: { ":pk": pk, ":prefix": prefix },
          }),
      ConsistentRead: true,
      ScanIndexForward: !descending,
      Limit: limit - items.length,
      ExclusiveStartKey: start,
    });
    const response = await dynamodb().send(command).catch(unavailableAs503);
    for (const item of response.Items ?? []) items.push(item);
    start = response.LastEvaluatedKey;
  } while (start && items.length < limit);
  return items;
};

const pageSize = 100;

/** Yields every item of a collection in order. Reads one page at a time. */
export async function* queryAll(collection: Collection, { newestFirst = false } = {}): AsyncGenerator<Item> {
  let after: string | undefined;
  do {
    const items = await query(collection, { after, limit: pageSize, descending: newestFirst });
    yield* items;
    after = items.length < pageSize ? undefined : String(items.at(-1)?.sk).slice(collection.prefix.length);
  } while (after !== undefined);
}

/** Whether a collection has an item with this id, or one beyond it in the given direction. */
export const hasItemFrom = async (
  { pk, prefix }: Collection,
  id: string,
  direction: "up" | "down",
): Promise<boolean> => {
  const [from, to] = direction === "up" ? [prefix + id, `${prefix}~`] : [prefix, prefix + id];
  const command = new QueryCommand({
    TableName: env.tableName(),
    KeyConditionExpression: "pk = :pk AND sk BETWEEN :from AND :to",
    ExpressionAttributeValues: { ":pk": pk, ":from": from, ":to": to },
    ConsistentRead: true,
    Limit: 1,
    Select: "COUNT",
  });
  const { Count = 0 } = await dynamodb().send(command).catch(unavailableAs503);
  return Count > 0;
};

/** The most items that `lookUp` returns, because callers can use the same X-Request-Id many times. */
const maxFound = 100;

/** Returns the keys of the items that operators find by a text. The index is up to date after some milliseconds. */
export const lookUp = async (text: string): Promise<Key[]> => {
  const command = new QueryCommand({
    TableName: env.tableName(),
    IndexName: lookupIndex,
    KeyConditionExpression: "#lookup = :text",
    ExpressionAttributeNames: { "#lookup": lookupIndex },
    ExpressionAttributeValues: { ":text": lookupOf(text)[lookupIndex] },
    Limit: maxFound,
  });
  const { Items = [] } = await dynamodb().send(command).catch(unavailableAs503);
  return Items.map(({ pk, sk }) => ({ pk: String(pk), sk: String(sk) }));
};

/** Yields every item. Reads the whole table, so it is for few commands only. A page may take longer than a caller of the API would wait. */
export async function* scan(segment: Pick<ScanCommandInput, "Segment" | "TotalSegments"> = {}): AsyncGenerator<Item> {
  // Without a page size, the embedded DynamoDB reads the rest of the table for each page.
  const settings = { client: dynamodb(), pageSize: 1_000 };
  try {
    const input = { TableName: env.tableName(), ConsistentRead: true, ...segment };
    for await (const { Items = [] } of paginateScan(settings, input, { requestTimeout: 30_000 })) yield* Items;
  } catch (error) {
    unavailableAs503(error);
  }
}
