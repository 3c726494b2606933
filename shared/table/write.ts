import { randomUUID } from "node:crypto";
import {
  DynamoDBServiceException,
  TransactionCanceledException,
  TransactionInProgressException,
} from "@aws-sdk/client-dynamodb";
import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { env } from "../env.ts";
import { unavailableAs503 } from "../errors.ts";
import { backOff, dynamodb } from "./client.ts";
import { expressions, type Item, type Write } from "./expressions.ts";

export const transactItem = (write: Write) => {
  const { update, ...rest } = expressions(write);
  const parameters = { TableName: env.tableName(), ...rest };
  if ("put" in write) return { Put: { ...parameters, Item: write.put } };
  if ("update" in write) return { Update: { ...parameters, Key: write.update, UpdateExpression: update } };
  if ("delete" in write) return { Delete: { ...parameters, Key: write.delete } };
  return { ConditionCheck: { ...parameters, Key: write.check, ConditionExpression: rest.ConditionExpression } };
};

/** The stored item, if there is one, for each write whose condition failed, by the write's name. */
type Unmet<Name extends string> = ReadonlyMap<Name, Item | undefined> & {
  /** Every attempt has had a response, so the transaction can no longer commit. */
  readonly isSettled: boolean;
};

/**
 * Runs up to 100 named writes, all or none. Names without a write are skipped. Returns undefined if all were written,
 * and otherwise the writes whose conditions failed. Conflicts with other transactions are retried with jitter.
 *
 * Every attempt, including the SDK's retries, has the same token and the same writes. If an attempt commits after its
 * caller has given up on it, the next attempt therefore succeeds instead of failing a condition.
 * Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
 */
export const transact = async <Name extends string>(
  writes: Readonly<Record<Name, Write | undefined>>,
): Promise<Unmet<Name> | undefined> => {
  const named = namedWrites(writes);
  const input = { TransactItems: named.map(([, write]) => transactItem(write)), ClientRequestToken: randomUUID() };
  let isSettled = true;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await dynamodb().send(new TransactWriteCommand(input));
      return undefined;
    } catch (error) {
      isSettled &&= attemptsOf(error) === 1;
      const unmet = unmetConditions(error, named);
      if (unmet !== "retry") return Object.assign(unmet, { isSettled });
      await backOff(attempt, error);
    }
  }
};

/** How often the SDK sent a call. Every attempt except the last may have had no response. */
const attemptsOf = (error: unknown): number =>
  error instanceof DynamoDBServiceException ? (error.$metadata.attempts ?? 1) : 1;

/** Returns the writes with their names. Names without a write are skipped. */
export const namedWrites = <Name extends string>(writes: Readonly<Record<Name, Write | undefined>>) => {
  const named: [Name, Write][] = [];
  for (const name in writes) {
    const write = writes[name];
    if (write) named.push([name, write]);
  }
  return named;
};

const unmetConditions = <Name extends string>(
  error: unknown,
  named: readonly [Name, Write][],
): Map<Name, Item | undefined> | "retry" => {
  if (error instanceof TransactionInProgressException) return "retry";
  if (!(error instanceof TransactionCanceledException)) return unavailableAs503(error);
  const reasons = error.CancellationReasons ?? [];
  const failed = named.flatMap(([name], index) =>
    reasons[index]?.Code === "ConditionalCheckFailed" ? [[name, stored(reasons[index]?.Item)] as const] : [],
  );
  if (failed.length > 0) return new Map(failed);
  const transient = ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"];
  if (reasons.some(({ Code }) => Code !== undefined && transient.includes(Code))) return "retry";
  throw error;
};

// The document client does not unmarshall the items in errors.
const stored = (item: Parameters<typeof unmarshall>[0] | undefined) => (item ? unmarshall(item) : undefined);
