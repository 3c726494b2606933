import type { Key } from "./keys.ts";

export type Item = Readonly<Record<string, unknown>>;

/** The condition on the stored item for a write to succeed. */
export type Condition = {
  readonly exists?: boolean;
  /** An attribute that is undefined here must be absent. */
  readonly equals?: Item;
  /** The item does not exist, or its `expires_at` (in seconds) has passed. TTL deletes expired items only later. */
  readonly absentOrExpiredAt?: number;
};

export type Write =
  | { readonly put: Item & Key; readonly when?: Condition }
  | {
      readonly update: Key;
      readonly set?: Item;
      readonly add?: Readonly<Record<string, number>>;
      readonly remove?: readonly string[];
      readonly when: Condition;
    }
  | { readonly delete: Key; readonly when?: Condition }
  /** Writes nothing. */
  | { readonly check: Key; readonly when: Condition };

/** Returns the key of the item that is written or checked. */
export const keyIn = (write: Write): Key => {
  if ("put" in write) return write.put;
  if ("update" in write) return write.update;
  return "delete" in write ? write.delete : write.check;
};

/** Collects placeholders for names and values, because many attribute names are reserved words in DynamoDB. */
const placeholders = () => {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const name = (attribute: string) => {
    const placeholder = `#${attribute}`;
    names[placeholder] = attribute;
    return placeholder;
  };
  const value = (content: unknown) => {
    const placeholder = `:v${Object.keys(values).length}`;
    values[placeholder] = content;
    return placeholder;
  };
  return { names, values, name, value };
};

type Placeholders = ReturnType<typeof placeholders>;

const conditionExpression = (condition: Condition, { name, value }: Placeholders) =>
  [
    condition.exists === true ? [`attribute_exists(${name("pk")})`] : [],
    condition.exists === false ? [`attribute_not_exists(${name("pk")})`] : [],
    condition.absentOrExpiredAt === undefined
      ? []
      : [`(attribute_not_exists(${name("pk")}) OR ${name("expires_at")} <= ${value(condition.absentOrExpiredAt)})`],
    Object.entries(condition.equals ?? {}).map(([attribute, content]) =>
      content === undefined ? `attribute_not_exists(${name(attribute)})` : `${name(attribute)} = ${value(content)}`,
    ),
  ]
    .flat()
    .join(" AND ");

const clause = (keyword: string, parts: readonly string[]) =>
  parts.length > 0 ? [`${keyword} ${parts.join(", ")}`] : [];

const updateExpression = (write: Extract<Write, { update: Key }>, { name, value }: Placeholders) =>
  [
    clause(
      "SET",
      Object.entries(write.set ?? {}).map(([attribute, content]) => `${name(attribute)} = ${value(content)}`),
    ),
    clause(
      "ADD",
      Object.entries(write.add ?? {}).map(([attribute, count]) => `${name(attribute)} ${value(count)}`),
    ),
    clause("REMOVE", (write.remove ?? []).map(name)),
  ]
    .flat()
    .join(" ");

/** Returns the expression parameters of a write for the DynamoDB API. */
export const expressions = (write: Write) => {
  const used = placeholders();
  const update = "update" in write ? updateExpression(write, used) : "";
  const condition = write.when ? conditionExpression(write.when, used) : "";
  return {
    ...(condition && { ConditionExpression: condition }),
    ...(Object.keys(used.names).length > 0 && { ExpressionAttributeNames: used.names }),
    ...(Object.keys(used.values).length > 0 && { ExpressionAttributeValues: used.values }),
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    update,
  } as const;
};
