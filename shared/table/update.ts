import { randomUUID } from "node:crypto";
import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { env } from "../env.ts";
import { unavailableAs503 } from "../errors.ts";
import { backOff, dynamodb } from "./client.ts";
import { expressions, type Item, type Write } from "./expressions.ts";
import { namedWrites, transact } from "./write.ts";

/**
 * As `transact`, but a single update without additions is no transaction, which costs twice the units. It has no token, so it stores
 * its own id in the item. If an attempt without a response has committed, the next one fails its condition and finds that id. What
 * remains is twofold. If another such update has replaced the id, the write counts as unmet although it was written. And an attempt
 * can commit once more, later, if its condition holds again. So this is only for writes that a step of the checkout makes, of which
 * an old copy may do the same at any time.
 */
export const transactOrUpdate = async <Name extends string>(
  writes: Readonly<Record<Name, Write | undefined>>,
): Promise<ReadonlyMap<Name, Item | undefined> | undefined> => {
  const named = namedWrites(writes);
  const [name, write] = named[0] ?? [];
  if (named.length !== 1 || !name || !write || !("update" in write) || write.add) return transact(writes);
  const item = await updateItem(write);
  return item && new Map([[name, item.unmet]]);
};

type Update = Extract<Write, { update: unknown }>;

const conflicts = [
  "TransactionConflictException",
  "ThrottlingException",
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
];

/** Returns the stored item if the condition failed. Conflicts with transactions and throttling are retried with jitter. */
const updateItem = async (write: Update): Promise<{ readonly unmet: Item | undefined } | undefined> => {
  const write_id = randomUUID();
  const { update, ...rest } = expressions({ ...write, set: { ...write.set, write_id } });
  const input = { TableName: env.tableName(), ...rest, Key: write.update, UpdateExpression: update };
  for (let attempt = 1; ; attempt += 1) {
    try {
      await dynamodb().send(new UpdateCommand(input));
      return undefined;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) {
        // The document client does not unmarshall the items in errors.
        const unmet = error.Item && unmarshall(error.Item);
        return unmet?.write_id === write_id ? undefined : { unmet };
      }
      if (!(error instanceof Error && conflicts.includes(error.name))) return unavailableAs503(error);
      await backOff(attempt, error);
    }
  }
};
