import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { dynamoError } from "./errors.ts";

/**
 * Adds the conflicts that emulators of DynamoDB lack. During a transaction, it refuses every other transaction and every write of a
 * single item that touches the same items (TransactionConflict), and a repetition of the same transaction (TransactionInProgress).
 * Reads pass. The emulators themselves handle the token of a transaction that has ended.
 * Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
 */

const Attribute = z.object({ S: z.string() });
const ItemKey = z.object({ pk: Attribute, sk: Attribute });
const Keyed = z.object({ TableName: z.string(), Key: ItemKey });
const Whole = z.object({ TableName: z.string(), Item: ItemKey });

const Transaction = z.object({
  ClientRequestToken: z.string(),
  TransactItems: z.array(z.object({ Put: z.optional(Whole), Update: z.optional(Keyed), Delete: z.optional(Keyed) })),
});
const SingleWrite = z.union([Keyed, Whole]);

const itemName = (write: z.infer<typeof SingleWrite> | undefined): string => {
  if (!write) return "";
  const { pk, sk } = "Key" in write ? write.Key : write.Item;
  return `${write.TableName} ${pk.S} ${sk.S}`;
};

type Response = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly content: Buffer;
};
type Pass<T extends Response> = () => Promise<T>;

const refusal = (type: string, more = {}) => ({
  status: 400,
  headers: { "content-type": "application/x-amz-json-1.0" },
  content: Buffer.from(dynamoError(type, more)),
});

/** Passes calls on, or refuses them as DynamoDB does. A transaction takes `transactionMs` longer than in the emulator. */
export const transactionRules = (transactionMs: number) => {
  const ongoing = new Map<string, readonly string[]>();
  const isLocked = (item: string) => [...ongoing.values()].some((items) => items.includes(item));

  const transaction = async <T extends Response>(body: string, pass: Pass<T>) => {
    const { ClientRequestToken: token, TransactItems } = z.parse(Transaction, JSON.parse(body));
    if (ongoing.has(token)) return refusal("TransactionInProgressException");
    const items = TransactItems.map(({ Put, Update, Delete }) => itemName(Put ?? Update ?? Delete));
    const codes = items.map((item) => (isLocked(item) ? "TransactionConflict" : "None"));
    if (codes.includes("TransactionConflict"))
      return refusal("TransactionCanceledException", { CancellationReasons: codes.map((Code) => ({ Code })) });
    ongoing.set(token, items);
    try {
      const response = await pass();
      await sleep(transactionMs);
      return response;
    } finally {
      ongoing.delete(token);
    }
  };

  return <T extends Response>(
    operation: string,
    body: Buffer,
    pass: Pass<T>,
  ): Promise<T | ReturnType<typeof refusal>> => {
    if (operation === "TransactWriteItems") return transaction(body.toString(), pass);
    const isWrite = /^(Put|Update|Delete)Item$/.test(operation);
    if (isWrite && isLocked(itemName(z.parse(SingleWrite, JSON.parse(body.toString())))))
      return Promise.resolve(refusal("TransactionConflictException"));
    return pass();
  };
};
