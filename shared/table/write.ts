import { isDeepStrictEqual } from "node:util";
import { ConditionalCheckFailedException, TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { TransactWriteCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { env } from "../env.ts";
import { backOff } from "./back-off.ts";
import { dynamodb } from "./client.ts";
import { expressions, type Item, type Write } from "./expressions.ts";
import { unavailableAs503 } from "./unavailable.ts";

type Update = Extract<Write, { readonly update: unknown }>;

const transactItem = (write: Write) => {
  const { update, ...rest } = expressions(write);
  const parameters = { TableName: env.tableName(), ...rest };
  if ("put" in write) return { Put: { ...parameters, Item: write.put } };
  if ("update" in write) return { Update: { ...parameters, Key: write.update, UpdateExpression: update } };
  if ("delete" in write) return { Delete: { ...parameters, Key: write.delete } };
  return { ConditionCheck: { ...parameters, ConditionExpression: rest.ConditionExpression ?? "", Key: write.check } };
};

/** By the name of a write whose condition did not hold: the item as it is stored, if there is one. */
export type Refusals<Name extends string> = ReadonlyMap<Name, Item | undefined>;

/**
 * Up to 100 named writes, all or none; names without a write are left out. Answers the writes whose conditions did
 * not hold: none, and all is written. Conflicts with other transactions are retried with jitter.
 */
export const transact = async <Name extends string>(
  writes: Readonly<Record<Name, Write | undefined>>,
): Promise<Refusals<Name>> => {
  const named = namedWrites(writes);
  for (let attempt = 1; ; attempt += 1) {
    const refusals = await dynamodb()
      .send(new TransactWriteCommand({ TransactItems: named.map(([, write]) => transactItem(write)) }))
      .then(() => new Map<Name, Item | undefined>())
      .catch((error: unknown) => refused(error, named));
    if (refusals !== "again") return refusals;
    await backOff(attempt);
  }
};

const namedWrites = <Name extends string>(writes: Readonly<Record<Name, Write | undefined>>) => {
  const named: [Name, Write][] = [];
  for (const name in writes) {
    const write = writes[name];
    if (write) named.push([name, write]);
  }
  return named;
};

const refused = <Name extends string>(
  error: unknown,
  named: readonly [Name, Write][],
): Map<Name, Item | undefined> | "again" => {
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

/**
 * Whether a refused update has been done before: the SDK repeats a call whose answer was lost. Only an update that sets
 * all that its condition asks for can refuse itself.
 */
const isDone = ({ set = {}, add, remove, when }: Update, item: Item | undefined): boolean =>
  item !== undefined &&
  !add &&
  !remove &&
  Object.keys(when.equals ?? {}).every((name) => name in set) &&
  Object.entries(set).every(([name, value]) => isDeepStrictEqual(item[name], value));

/** One conditional update: whether it was done. Half the price of a transaction of one. */
export const update = async (write: Update): Promise<boolean> => {
  const { update: UpdateExpression, ...parameters } = expressions(write);
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await dynamodb()
      .send(new UpdateCommand({ TableName: env.tableName(), Key: write.update, UpdateExpression, ...parameters }))
      .then(() => true)
      .catch((error: unknown) => {
        if (error instanceof ConditionalCheckFailedException) return isDone(write, stored(error.Item));
        if (error instanceof Error && error.name === "TransactionConflictException") return "again";
        return unavailableAs503(error);
      });
    if (outcome !== "again") return outcome;
    await backOff(attempt);
  }
};
