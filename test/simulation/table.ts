import { isDeepStrictEqual } from "node:util";
import {
  ConditionalCheckFailedException,
  InternalServerError,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  GetCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { Item } from "../../shared/table/expressions.ts";
import type { Key } from "../../shared/table/keys.ts";
import { type Act, callService, decided } from "./service.ts";
import { chance, elapsed, faultOf, outside, type Task } from "./world.ts";

/**
 * DynamoDB behind the document client's `send`, with only the operations and expressions that `shared/table` uses. Reads of several
 * items are not isolated, an attempt can commit after it was given up, and a write can be refused.
 */

type Stored = { readonly item: Item | undefined; readonly before: Item | undefined; readonly writtenAt: number };
type Partition = {
  readonly stored: Map<string, Stored>;
  /** The sort keys in their order, once a read has needed it. */
  sorted: readonly string[] | undefined;
};

/** A change that a write has made. */
export type Change = { readonly key: Key; readonly before: Item | undefined; readonly after: Item | undefined };

let partitions = new Map<string, Partition>();
let committed = new Set<string>();

/** Called after each write of a task, before anything else happens. There are no changes if a condition did not hold. */
type OnCommit = (changes: readonly Change[], task: Task) => void;
let onCommit: OnCommit = () => {};

/** Begins with a copy of these items. */
export const beginTable = (items: Iterable<Item>, callback: OnCommit = () => {}): void => {
  partitions = new Map();
  committed = new Set();
  for (const item of items) write(keyOf(item), item);
  onCommit = callback;
};

const keyOf = (item: Readonly<Record<string, unknown>>): Key => ({ pk: String(item.pk), sk: String(item.sk) });

const storedAt = ({ pk, sk }: Key) => partitions.get(pk)?.stored.get(sk);

/** An item as it is at this moment. */
export const itemAt = (key: Key): Item | undefined => storedAt(key)?.item;

const itemsOf = (stored: Iterable<Stored>): Item[] =>
  Array.from(stored, ({ item }) => item).filter((item) => item !== undefined);

export const allItems = (): Item[] =>
  [...partitions.values()].flatMap((partition) => itemsOf(partition.stored.values()));

const sortKeysIn = (pk: string): readonly string[] => {
  const partition = partitions.get(pk);
  if (!partition) return [];
  // Of two sort keys, none is equal to the other.
  partition.sorted ??= [...partition.stored.keys()].sort((one, other) => (one < other ? -1 : 1));
  return partition.sorted;
};

/** The items of a partition whose sort keys begin with a prefix, in order, as they are at this moment. */
export const itemsBelow = (pk: string, prefix: string): Item[] =>
  sortKeysIn(pk)
    .filter((sk) => sk.startsWith(prefix))
    .map((sk) => itemAt({ pk, sk }))
    .filter((item) => item !== undefined);

const write = ({ pk, sk }: Key, item: Item | undefined): void => {
  const partition: Partition = partitions.get(pk) ?? { stored: new Map(), sorted: undefined };
  partitions.set(pk, partition);
  const before = partition.stored.get(sk);
  if (!before) partition.sorted = undefined;
  partition.stored.set(sk, { item, before: before?.item, writtenAt: elapsed() });
};

/** TTL: removes what has expired. */
export const removeExpired = (seconds: number): void => {
  for (const item of allItems())
    if (typeof item.expires_at === "number" && item.expires_at <= seconds) write(keyOf(item), undefined);
};

/** Copies a value as sending it would: without undefined properties, and shared with nobody. */
const copy = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copy);
  if (typeof value !== "object" || value === null) return value;
  const result: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(value)) if (one !== undefined) result[name] = copy(one);
  return Object.freeze(result);
};
const copyOf = (item: Item): Item => Object(copy(item));

type Expressions = {
  readonly ConditionExpression?: string | undefined;
  readonly UpdateExpression?: string | undefined;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>> | undefined;
};

/** Parses each text once, because the product makes the same few expressions again and again. */
const parsedOnce = <T>(parse: (text: string) => T): ((text: string) => T) => {
  const known = new Map<string, T>();
  return (text) => {
    const parsed = known.get(text) ?? parse(text);
    known.set(text, parsed);
    return parsed;
  };
};

/** A condition: parts joined by `AND`. A part in parentheses may itself have parts joined by `OR`. */
const partsOf = parsedOnce((condition) =>
  condition.split(/ AND (?![^(]*\) OR)/).map((part) =>
    part
      .replace(/^\((.* OR .*)\)$/, "$1")
      .split(" OR ")
      .map((one) => {
        const [, exists, absent, left = "", operator, right = ""] =
          /^attribute_exists\((#\w+)\)$|^attribute_not_exists\((#\w+)\)$|^(#\w+) (=|<=) (:\w+)$/.exec(one) ?? [];
        return { one, exists, absent, name: exists ?? absent ?? left, operator, right };
      }),
  ),
);

type Part = ReturnType<typeof partsOf>[number][number];

const holds = (condition: string, item: Item | undefined, of: Expressions): boolean =>
  partsOf(condition).every((part) => part.some((one) => holdsAlone(one, item, of)));

const holdsAlone = (
  { one, exists, absent, name, operator, right }: Part,
  item: Item | undefined,
  { ExpressionAttributeNames, ExpressionAttributeValues }: Expressions,
) => {
  const value = item?.[ExpressionAttributeNames?.[name] ?? ""];
  if (exists) return value !== undefined;
  if (absent) return value === undefined;
  const expected = ExpressionAttributeValues?.[right];
  if (operator === "<=") return typeof value === "number" && value <= Number(expected);
  if (operator !== "=") throw new Error(`The simulated table does not know the condition ${one}.`);
  return value !== undefined && isDeepStrictEqual(value, copy(expected));
};

/** An update: SET, ADD and REMOVE, in this order. */
const actionsOf = parsedOnce((update) =>
  Array.from(update.matchAll(/(SET|ADD|REMOVE) (.*?)(?= ADD | REMOVE |$)/g)).flatMap(([, keyword, list = ""]) =>
    list.split(", ").map((one) => {
      const [name = "", value = ""] = one.split(/ (?:= )?/);
      return { keyword, name, value };
    }),
  ),
);

/** The item after an update. */
const updated = (key: Key, item: Item | undefined, of: Expressions): Item => {
  const result: Record<string, unknown> = { ...key, ...item };
  for (const { keyword, name: placeholder, value } of actionsOf(of.UpdateExpression ?? "")) {
    const name = of.ExpressionAttributeNames?.[placeholder] ?? "";
    const content = of.ExpressionAttributeValues?.[value];
    if (keyword === "REMOVE") delete result[name];
    else if (keyword === "SET") result[name] = content;
    else result[name] = Number(item?.[name] ?? 0) + Number(content);
  }
  return copyOf(result);
};

type TransactItem = NonNullable<TransactWriteCommand["input"]["TransactItems"]>[number];

const changeOf = ({ Put, Update, Delete, ConditionCheck }: TransactItem) => {
  const operation = Put ?? Update ?? Delete ?? ConditionCheck;
  if (!operation) throw new Error("The simulated table does not know this kind of write.");
  const key = keyOf(Object(Put ? Put.Item : (Update ?? Delete ?? ConditionCheck)?.Key));
  const before = itemAt(key);
  const { ConditionExpression: condition } = operation;
  const isAllowed = condition === undefined || holds(condition, before, operation);
  const after = () => (Put ? copyOf(Object(Put.Item)) : Update ? updated(key, before, Update) : undefined);
  return { key, before, isAllowed, isWrite: !ConditionCheck, after };
};

/** Writes everything or nothing, at this moment. A repeated token changes nothing. */
const transact = ({ TransactItems = [], ClientRequestToken = "" }: TransactWriteCommand["input"], task: Task) => {
  if (committed.has(ClientRequestToken)) return {};
  const changes = TransactItems.map(changeOf);
  if (!changes.every(({ isAllowed }) => isAllowed)) {
    onCommit([], task);
    throw cancelled(
      changes.map(({ isAllowed, before }) =>
        isAllowed ? { Code: "None" } : { Code: "ConditionalCheckFailed", ...(before && { Item: marshall(before) }) },
      ),
    );
  }
  committed.add(ClientRequestToken);
  commit(changes, task);
  return {};
};

const commit = (changes: readonly ReturnType<typeof changeOf>[], task: Task) => {
  const writes = changes.filter(({ isWrite }) => isWrite);
  const written = writes.map(({ key, before, after }) => ({ key, before, after: after() }));
  for (const { key, after } of written) write(key, after);
  onCommit(written, task);
};

/** Updates one item, at this moment. It has no token, so a repetition updates the item again if the condition still holds. */
const updateOne = (input: UpdateCommand["input"], task: Task) => {
  const change = changeOf({ Update: { ...input, UpdateExpression: input.UpdateExpression ?? "" } });
  if (change.isAllowed) commit([change], task);
  else {
    onCommit([], task);
    throw new ConditionalCheckFailedException({
      ...errorOf("The conditional request failed"),
      ...(change.before && { Item: marshall(change.before) }),
    });
  }
  return {};
};

const errorOf = (name: string) => ({ message: name, $metadata: {} });
const cancelled = (CancellationReasons: TransactionCanceledException["CancellationReasons"]) =>
  new TransactionCanceledException({
    ...errorOf("Transaction cancelled"),
    CancellationReasons: CancellationReasons ?? [],
  });

/** An item as a read finds it. For a second after a write, a read that is not consistent may find the previous item. */
const read = (key: Key, isConsistent: boolean | undefined, named: string): Item | undefined => {
  const found = storedAt(key);
  const isStale =
    found && !isConsistent && elapsed() - found.writtenAt < 1_000 && chance(`${named} ${key.sk} stale`) < 0.5;
  return isStale ? found.before : found?.item;
};

const isKeyIn = ({ KeyConditionExpression, ExpressionAttributeValues = {} }: QueryCommand["input"], sk: string) => {
  const { ":prefix": prefix, ":from": from, ":to": to } = ExpressionAttributeValues;
  if (KeyConditionExpression === "pk = :pk AND begins_with(sk, :prefix)") return sk.startsWith(String(prefix));
  if (KeyConditionExpression === "pk = :pk AND sk BETWEEN :from AND :to") return sk >= String(from) && sk <= String(to);
  throw new Error(`The simulated table does not know the query ${KeyConditionExpression}.`);
};

const query = (input: QueryCommand["input"], named: string) => {
  const {
    ExpressionAttributeValues,
    ExclusiveStartKey,
    ScanIndexForward = true,
    Limit = 1_000,
    ConsistentRead,
  } = input;
  const pk = String(ExpressionAttributeValues?.[":pk"]);
  const start = ExclusiveStartKey && String(ExclusiveStartKey.sk);
  const isAfter = (sk: string) => start === undefined || (ScanIndexForward ? sk > start : sk < start);
  const sorted = sortKeysIn(pk);
  const found = (ScanIndexForward ? sorted : sorted.toReversed())
    .filter((sk) => isAfter(sk) && isKeyIn(input, sk))
    .map((sk) => read({ pk, sk }, ConsistentRead, named))
    .filter((item) => item !== undefined);
  const Items = found.slice(0, Limit);
  const last = Items.at(-1);
  return { Items, Count: Items.length, ...(last && found.length >= Limit && { LastEvaluatedKey: keyOf(last) }) };
};

/** Reads half of the items when the call arrives, and the others when its response leaves. */
const readTorn = (input: QueryCommand["input"], named: string) => {
  const early = query(input, named);
  const split = early.Items[Math.floor(early.Items.length / 2)];
  return () => {
    if (!split) return query(input, named);
    const isEarly = (item: Item) => String(item.sk) <= String(split.sk) === (input.ScanIndexForward ?? true);
    const late = query({ ...input, Limit: 1_000 }, named).Items.filter((item) => !isEarly(item));
    const Items = [...early.Items.filter(isEarly), ...late].slice(0, input.Limit ?? 1_000);
    const last = Items.at(-1);
    return {
      Items,
      Count: Items.length,
      ...(last && Items.length >= (input.Limit ?? 1_000) && { LastEvaluatedKey: keyOf(last) }),
    };
  };
};

const batchGet = ({ RequestItems = {} }: BatchGetCommand["input"], named: string) => {
  const [[table = "", { Keys = [], ConsistentRead } = {}] = []] = Object.entries(RequestItems);
  const fault = faultOf("table", named, ["left unprocessed", "torn"]);
  const half = Math.ceil(Keys.length / 2);
  const findAll = (wanted: typeof Keys) => wanted.flatMap((key) => read(keyOf(key), ConsistentRead, named) ?? []);
  const early = findAll(fault ? Keys.slice(0, half) : Keys);
  return () => {
    const late = fault === "torn" ? findAll(Keys.slice(half)) : [];
    const left = fault === "left unprocessed" ? Keys.slice(half) : [];
    const Responses = { [table]: [...early, ...late] };
    return { Responses, ...(left.length > 0 && { UnprocessedKeys: { [table]: { Keys: left } } }) };
  };
};

/** Returns the operation of a command. */
const actOf = (command: object): Act<object> => {
  if (command instanceof GetCommand)
    return (named) => {
      const Item = read(keyOf(Object(command.input.Key)), command.input.ConsistentRead, named);
      return () => ({ ...(Item && { Item }) });
    };
  if (command instanceof BatchGetCommand) return (named) => batchGet(command.input, named);
  if (command instanceof QueryCommand)
    return (named) => {
      if (faultOf("table", named, ["torn"])) return readTorn(command.input, named);
      const found = query(command.input, named);
      return () => found;
    };
  if (command instanceof ScanCommand)
    return () => {
      // The first segment has everything.
      const Items = command.input.Segment ? [] : allItems();
      return () => ({ Items, Count: Items.length });
    };
  if (command instanceof TransactWriteCommand)
    return (named, task) => decided(() => transactOrRefuse(command, named, task));
  if (command instanceof UpdateCommand)
    return (named, task) =>
      decided(() => {
        if (!faultOf("table", named, ["conflict"])) return updateOne(command.input, task);
        throw new TransactionConflictException(errorOf("Transaction conflict"));
      });
  throw new Error(`The simulated table does not know ${command.constructor.name}.`);
};

const transactOrRefuse = ({ input }: TransactWriteCommand, named: string, task: Task) => {
  const fault = faultOf("table", named, ["conflict", "in progress"]);
  if (fault === "in progress") throw new TransactionInProgressException(errorOf("Transaction in progress"));
  if (fault !== "conflict") return transact(input, task);
  throw cancelled(
    (input.TransactItems ?? []).map((_, index) => ({ Code: index === 0 ? "TransactionConflict" : "None" })),
  );
};

const kindOf = (key: Readonly<Record<string, unknown>> | undefined) => {
  const sk = String(key?.sk);
  const end = sk.indexOf("#");
  return end < 0 ? sk : sk.slice(0, end);
};

/** Describes a call, without ids, because they depend on the time. */
const describeCommand = (command: object): string => {
  const name = command.constructor.name.replace("Command", "");
  if (command instanceof GetCommand || command instanceof UpdateCommand) return `${name} ${kindOf(command.input.Key)}`;
  if (command instanceof QueryCommand)
    return `${name} ${String(command.input.ExpressionAttributeValues?.[":prefix"] ?? "").replace("#", "")}`;
  if (command instanceof BatchGetCommand) {
    const keys = Object.values(command.input.RequestItems ?? {}).flatMap(({ Keys = [] }) => Keys);
    return `${name} ${[...new Set(keys.map(kindOf))].join("+")}`;
  }
  if (!(command instanceof TransactWriteCommand)) return name;
  const kinds = (command.input.TransactItems ?? []).map(({ Put, Update, Delete, ConditionCheck }) =>
    kindOf(Put ? Put.Item : (Update ?? Delete ?? ConditionCheck)?.Key),
  );
  return `Transact ${[...new Set(kinds)].join("+")}`;
};

const service = {
  name: "table",
  clientName: "DynamoDBClient",
  timeoutMs: 2_500,
  throttled: () => new ProvisionedThroughputExceededException(errorOf("Throttled")),
  failed: () => new InternalServerError(errorOf("Internal server error")),
} as const;

/** Runs an operation without faults and delays, to compare it with a real table. */
export const sendDirectly = (command: object): object => actOf(command)("", outside)();

export const sendToTable = (command: object): Promise<object> =>
  callService(service, command, describeCommand(command), actOf(command));
