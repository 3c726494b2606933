import { onTestFinished } from "vitest";
import * as z from "zod/mini";
import type { Key } from "../../../shared/table/keys.ts";
import { interceptCalls, type SdkCall } from "./intercept.ts";

/** Delays or refuses calls of this process to the table. */

const ItemKey = z.object({ pk: z.string(), sk: z.string() });
const Keyed = z.looseObject({ Key: ItemKey });
const Values = z.record(z.string(), z.unknown());
const Update = z.looseObject({
  ...Keyed.shape,
  UpdateExpression: z.string(),
  ConditionExpression: z.optional(z.string()),
  ExpressionAttributeValues: z.optional(Values),
});
type Update = z.infer<typeof Update>;

const Input = z.object({
  Key: z.optional(ItemKey),
  RequestItems: z.optional(z.record(z.string(), z.catch(z.object({ Keys: z.array(ItemKey) }), { Keys: [] }))),
  TransactItems: z.optional(
    z.array(
      z.object({
        Put: z.optional(z.looseObject({ Item: z.looseObject(ItemKey.shape) })),
        Update: z.optional(Update),
        Delete: z.optional(Keyed),
        ConditionCheck: z.optional(Keyed),
      }),
    ),
  ),
  ExpressionAttributeValues: z.optional(Values),
});

export type TableCall = {
  /** The operation, such as `GetItem` or `TransactWriteItems`. */
  readonly operation: string;
  readonly input: z.infer<typeof Input>;
  /** The items that the call reads or writes. For a query, `sk` is the prefix of their sort keys. */
  readonly items: readonly Key[];
  readonly updates: readonly Update[];
};

const queried = (values: z.infer<typeof Values> = {}): Key[] =>
  typeof values[":pk"] === "string" ? [{ pk: values[":pk"], sk: String(values[":prefix"]) }] : [];

const itemsOf = (operation: string, input: z.infer<typeof Input>): Key[] => {
  if (operation === "Query") return queried(input.ExpressionAttributeValues);
  const inTransaction = (input.TransactItems ?? []).flatMap(({ Put, Update, Delete, ConditionCheck }) =>
    [Put?.Item, Update?.Key, Delete?.Key, ConditionCheck?.Key].filter((key) => key !== undefined),
  );
  const inBatch = Object.values(input.RequestItems ?? {}).flatMap(({ Keys }) => Keys);
  return [...(input.Key ? [input.Key] : []), ...inTransaction, ...inBatch];
};

export const tableCallOf = ({ operation, command }: SdkCall): TableCall => {
  const input = z.parse(Input, command.input);
  const inTransaction = (input.TransactItems ?? []).flatMap(({ Update }) => Update ?? []);
  const updates = operation === "UpdateItem" ? [z.parse(Update, command.input)] : inTransaction;
  return { operation, input, items: itemsOf(operation, input), updates };
};

export const isWrite = ({ operation }: Pick<TableCall, "operation">): boolean =>
  operation === "TransactWriteItems" || operation === "UpdateItem";

/** Calls `visit` for each call, which calls `pass` to send it. Returns a function that ends the interception. */
export const interceptTableCalls = (visit: (call: TableCall, pass: () => Promise<unknown>) => Promise<unknown>) =>
  interceptCalls((call, pass) => (call.isTable ? visit(tableCallOf(call), pass) : pass()));

/**
 * A permission that a call needs. It has an action and, if it concerns an item, the item's partition.
 */
export type Wanted = { readonly action: string; readonly pk: string };

/** One for each write of a transaction, or item of a batch. */
export const wantedBy = ({ operation, input, items }: TableCall): Wanted[] => {
  // A scan has no partition.
  if (!input.TransactItems)
    return (items.length > 0 ? items : [{ pk: "" }]).map(({ pk }) => ({ action: operation, pk }));
  return input.TransactItems.flatMap(({ Put, Update, Delete, ConditionCheck }) => [
    ...(Put ? [{ action: "PutItem", pk: Put.Item.pk }] : []),
    ...(Update ? [{ action: "UpdateItem", pk: Update.Key.pk }] : []),
    ...(Delete ? [{ action: "DeleteItem", pk: Delete.Key.pk }] : []),
    ...(ConditionCheck ? [{ action: "ConditionCheckItem", pk: ConditionCheck.Key.pk }] : []),
  ]);
};

/** Runs `act` before the first matching call of this test. */
export const beforeTableCall = (matches: (call: TableCall) => boolean, act: () => Promise<unknown>): void => {
  let done = false;
  const stop = interceptTableCalls(async (call, pass) => {
    if (!done && matches(call)) {
      done = true;
      await act();
    }
    return pass();
  });
  onTestFinished(() => void stop());
};

/**
 * Sends `count` requests to the service in this process. None writes before all have read the items that they depend on, so that
 * their transactions conflict. Otherwise the first is often done before the others are connected.
 */
export const atOnce = async <T>(count: number, send: (n: number) => Promise<T>): Promise<T[]> => {
  const { promise: allHaveRead, resolve } = Promise.withResolvers<void>();
  let left = count;
  const stop = interceptTableCalls(async ({ operation }, pass) => {
    if (operation === "TransactWriteItems") {
      left -= 1;
      if (left === 0) resolve();
      await allHaveRead;
    }
    return pass();
  });
  try {
    return await Promise.all(Array.from({ length: count }, (_, n) => send(n)));
  } finally {
    stop();
  }
};
