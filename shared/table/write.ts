import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  TransactionCanceledException,
  TransactionInProgressException,
} from "@aws-sdk/client-dynamodb";
import { TransactWriteCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { env } from "../env.ts";
import { unavailableAs503 } from "../errors.ts";
import { backOff, dynamodb } from "./client.ts";
import { expressions, type Item, type Write } from "./expressions.ts";

type Update = Extract<Write, { readonly update: unknown }>;

const transactItem = (write: Write) => {
  const { update, ...rest } = expressions(write);
  const parameters = { TableName: env.tableName(), ...rest };
  if ("put" in write) return { Put: { ...parameters, Item: write.put } };
  if ("update" in write) return { Update: { ...parameters, Key: write.update, UpdateExpression: update } };
  return { Delete: { ...parameters, Key: write.delete } };
};

/** For each write whose condition failed, by its name: the item as it is stored, if there is one. */
type FailedConditions<Name extends string> = ReadonlyMap<Name, Item | undefined> & {
  /** No earlier attempt is left without a response: the transaction cannot commit any more. */
  readonly final: boolean;
};

/**
 * Up to 100 named writes, all or none; names without a write are left out. Returns the writes whose conditions
 * failed: when there are none, everything is written. Conflicts with other transactions are retried with jitter.
 *
 * Every attempt, the SDK's retries included, carries the same token and the same writes. An attempt that commits late,
 * after its caller has given up on it, therefore makes the next attempt a success instead of a failed condition.
 * Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
 */
export const transact = async <Name extends string>(
  writes: Readonly<Record<Name, Write | undefined>>,
): Promise<FailedConditions<Name>> => {
  const named = namedWrites(writes);
  const input = { TransactItems: named.map(([, write]) => transactItem(write)), ClientRequestToken: randomUUID() };
  let final = true;
  let conflict: unknown;
  for (let attempt = 1; ; attempt += 1) {
    const failed = await dynamodb()
      .send(new TransactWriteCommand(input))
      .then(() => new Map<Name, Item | undefined>())
      .catch((error: unknown) => {
        final &&= attemptsOf(error) === 1;
        conflict = error;
        return failedConditions(error, named);
      });
    if (failed !== "again") return Object.assign(failed, { final });
    await backOff(attempt, conflict);
  }
};

/** How often the SDK has sent a call: each attempt but the last may have been left without a response. */
const attemptsOf = (error: unknown): number =>
  error instanceof DynamoDBServiceException ? (error.$metadata.attempts ?? 1) : 1;

/** Whether a condition failed because of what this very transaction wrote: an item with the id that was made for it. */
export const showsOwnWrite = (failed: ReadonlyMap<string, Item | undefined>, id: string): boolean =>
  [...failed.values()].some((item) => item !== undefined && Object.values(item).includes(id));

const namedWrites = <Name extends string>(writes: Readonly<Record<Name, Write | undefined>>) => {
  const named: [Name, Write][] = [];
  for (const name in writes) {
    const write = writes[name];
    if (write) named.push([name, write]);
  }
  return named;
};

const failedConditions = <Name extends string>(
  error: unknown,
  named: readonly [Name, Write][],
): Map<Name, Item | undefined> | "again" => {
  if (error instanceof TransactionInProgressException) return "again";
  if (!(error instanceof TransactionCanceledException)) return unavailableAs503(error);
  const reasons = error.CancellationReasons ?? [];
  const failed = named.flatMap(([name], index) =>
    reasons[index]?.Code === "ConditionalCheckFailed" ? [[name, stored(reasons[index]?.Item)] as const] : [],
  );
  if (failed.length > 0) return new Map(failed);
  const passing = ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"];
  if (reasons.some(({ Code }) => Code !== undefined && passing.includes(Code))) return "again";
  throw error;
};

// The document client leaves the items inside errors as they come over the wire.
const stored = (item: Parameters<typeof unmarshall>[0] | undefined) => (item ? unmarshall(item) : undefined);

/** Whether an item names the writer of an update among its last ones: see `nextVersion`. */
const names = (item: Item, { writers }: Item): boolean =>
  Array.isArray(writers) && Array.isArray(item.writers) && item.writers.includes(writers[0]);

/**
 * Whether an update whose condition failed was done before: the SDK retries a call whose response was lost. Without a
 * writer's name, only an update that sets all that its condition asks for can fail on itself.
 */
const isDone = ({ set = {}, add, remove, when }: Update, item: Item | undefined): boolean => {
  if (!item) return false;
  if (set.writers) return names(item, set);
  if (add || remove) return false;
  const setsItsCondition = Object.keys(when.equals ?? {}).every((name) => name in set);
  return setsItsCondition && Object.entries(set).every(([name, value]) => isDeepStrictEqual(item[name], value));
};

/** One conditional update: whether it was done. Half the price of a transaction of one. */
export const update = async (write: Update): Promise<boolean> => {
  const { update: UpdateExpression, ...parameters } = expressions(write);
  let conflict: unknown;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await dynamodb()
      .send(new UpdateCommand({ TableName: env.tableName(), Key: write.update, UpdateExpression, ...parameters }))
      .then(() => true)
      .catch((error: unknown) => {
        if (error instanceof ConditionalCheckFailedException) return isDone(write, stored(error.Item));
        if (error instanceof Error && error.name === "TransactionConflictException") {
          conflict = error;
          return "again";
        }
        return unavailableAs503(error);
      });
    if (outcome !== "again") return outcome;
    await backOff(attempt, conflict);
  }
};
