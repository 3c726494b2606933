import { ConditionalCheckFailedException, TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { BatchGetCommand, GetCommand, QueryCommand, TransactWriteCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { env } from "../../shared/env.ts";
import { dynamodb } from "../../shared/table/client.ts";
import { keyIn, type Write } from "../../shared/table/expressions.ts";
import { transactItem } from "../../shared/table/write.ts";
import { byExtent } from "../support/setup/extent.ts";
import { beginTable, sendDirectly } from "./table.ts";

/** The simulated table and the embedded one respond alike to the operations that shared/table sends. */

const pk = `SIMULATION#${crypto.randomUUID()}`;
const everyKey = ["A#1", "A#2", "B#1"].map((sk) => ({ pk, sk }));
const key = fc.constantFrom(...everyKey);
const value = fc.constantFrom<unknown>(1, "one", null, true, [1, "2"], { nested: { list: [null] } });
const attribute = fc.constantFrom("name", "count", "state");
const set = fc.dictionary(attribute, value, { minKeys: 1, maxKeys: 2 });

const condition = fc.record(
  {
    exists: fc.boolean(),
    equals: fc.dictionary(attribute, fc.option(value, { nil: undefined }), { minKeys: 1, maxKeys: 2 }),
    absentOrExpiredAt: fc.integer({ min: 0, max: 3 }),
  },
  { requiredKeys: [] },
);
const isConditional = (when: object) => Object.keys(when).length > 0;
const when = condition.filter(isConditional);

const put = fc
  .tuple(key, set, fc.integer({ min: 0, max: 3 }))
  .map(([at, item, expires_at]) => ({ ...item, expires_at, ...at }));
const update = fc.oneof<fc.Arbitrary<Extract<Write, { update: unknown }>>[]>(
  fc.record({ update: key, set, when: condition }),
  fc.record({ update: key, add: fc.record({ counted: fc.integer({ min: -2, max: 2 }) }), when: condition }),
  fc.record({ update: key, set, remove: fc.constantFrom(["expires_at"], ["expires_at", "counted"]), when: condition }),
);
const write = fc.oneof<fc.Arbitrary<Write>[]>(
  fc.record({ put }),
  fc.record({ put, when }),
  update,
  fc.record({ delete: key }),
  fc.record({ delete: key, when }),
  fc.record({ check: key, when }),
);

const TableName = env.tableName();

const keyOf = (one: Write) => {
  const { pk, sk } = keyIn(one);
  return JSON.stringify([pk, sk]);
};

const transaction = fc.tuple(
  fc.uniqueArray(write, { minLength: 1, maxLength: 4, selector: (one) => keyOf(one).replace(/"[ps]k":|[{}[\]]/g, "") }),
  fc.constantFrom("", "again"),
);

const query = fc.record({
  forward: fc.boolean(),
  limit: fc.integer({ min: 1, max: 4 }),
  after: fc.option(fc.constantFrom("A#0", "A#1", "A#2", "A#3"), { nil: undefined }),
});

const updateCommand = (one: Write) => {
  const { UpdateExpression = "", ...input } = { ...transactItem(one).Update };
  return new UpdateCommand({ TableName, Key: keyIn(one), ...input, UpdateExpression });
};

const commandsOf = ([writes, repetition]: readonly [readonly Write[], string]) => {
  const token = { ClientRequestToken: crypto.randomUUID() };
  const command = () => new TransactWriteCommand({ TransactItems: writes.map(transactItem), ...token });
  return repetition === "again" ? [command, command] : [command];
};

type Range = { readonly forward: boolean; readonly limit: number; readonly after: string | undefined };

const readsOf = ({ forward, limit, after }: Range) => {
  const range = { TableName, ConsistentRead: true, ScanIndexForward: forward, Limit: limit };
  const start = after !== undefined && { ExclusiveStartKey: { pk, sk: after } };
  return [
    () =>
      new QueryCommand({
        ...range,
        ...start,
        KeyConditionExpression: "pk = :pk AND begins_with(sk, :prefix)",
        ExpressionAttributeValues: { ":pk": pk, ":prefix": "A#" },
      }),
    () =>
      new QueryCommand({
        ...range,
        KeyConditionExpression: "pk = :pk AND sk BETWEEN :from AND :to",
        ExpressionAttributeValues: { ":pk": pk, ":from": "A#2", ":to": "B#1" },
      }),
    () => new GetCommand({ TableName, Key: { pk, sk: "A#1" }, ConsistentRead: true }),
    () =>
      new BatchGetCommand({
        RequestItems: {
          [TableName]: { Keys: everyKey.slice(1), ConsistentRead: true },
        },
      }),
  ];
};

/** The parts of a response that are compared, with the items of a batch in order. */
const told = (response: unknown) => {
  const { Items, Item, LastEvaluatedKey, Responses, Count } = Object(response);
  const sorted = (Responses?.[TableName] ?? []).toSorted((one: { sk: string }, other: { sk: string }) =>
    one.sk < other.sk ? -1 : 1,
  );
  return { Items, Item, LastEvaluatedKey, Count, batch: sorted };
};
const refusal = (error: unknown) => {
  if (error instanceof ConditionalCheckFailedException) return [{ Code: error.name, Item: error.Item }];
  if (!(error instanceof TransactionCanceledException)) throw error;
  return (error.CancellationReasons ?? []).map(({ Code, Item }) => ({ Code, Item }));
};

it("the simulated table responds like the embedded one", { timeout: 1_200_000 }, async () => {
  const operations = fc.array(
    fc.oneof(
      transaction.map((one) => commandsOf(one)),
      update.map((one) => [() => updateCommand(one)]),
      query.map(readsOf),
    ),
    { minLength: 5, maxLength: 20 },
  );
  await fc.assert(
    fc.asyncProperty(operations, async (list) => {
      beginTable([]);
      await dynamodb().send(
        new TransactWriteCommand({ TransactItems: everyKey.map((Key) => ({ Delete: { TableName, Key } })) }),
      );
      for (const create of list.flat()) {
        const command = create();
        const simulated = await Promise.resolve(command).then(sendDirectly).then(told, refusal);
        // @ts-expect-error the overloads of `send` do not take a union
        const embedded = await dynamodb().send(command).then(told, refusal);
        expect(simulated).toEqual(embedded);
      }
    }),
    { numRuns: byExtent({ sample: 15, most: 200, all: 2_000 }) },
  );
});
