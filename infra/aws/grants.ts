import { Aws } from "aws-cdk-lib";
import { Effect, PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { filePrefix } from "../../shared/attachments/file-keys.ts";
import type { Route, TableAction } from "../../shared/route.ts";
import { type Key, keys } from "../../shared/table/keys.ts";
import type { Settings } from "./settings.ts";
import type { Storage } from "./storage.ts";

export type Grants = Route["grants"];

/** A condition that is not met returns the item, so it is a read. */
const reads: readonly TableAction[] = ["GetItem", "Query", "ConditionCheckItem"];
const writes: readonly TableAction[] = ["PutItem", "UpdateItem", "DeleteItem"];

/** S3 generates a data key to write a file, decrypts it to read one, and needs none to delete one. */
const fileActions = {
  PutObject: { s3: "s3:PutObject", kms: "kms:GenerateDataKey" },
  GetObject: { s3: "s3:GetObject", kms: "kms:Decrypt" },
  GetObjectTagging: { s3: "s3:GetObjectTagging", kms: undefined },
  DeleteObject: { s3: "s3:DeleteObject", kms: undefined },
} as const;

export const allow = (actions: readonly string[], resource: string, conditions?: Readonly<Record<string, unknown>>) =>
  new PolicyStatement({ actions: [...actions], resources: [resource], ...(conditions && { conditions }) });

/** The ARN of a resource in this account and region. */
export const arnOf = (service: string, resource: string) =>
  `arn:${Aws.PARTITION}:${service}:${Aws.REGION}:${Aws.ACCOUNT_ID}:${resource}`;

/** A service, for this account's resources only. Use it only if the service's documentation describes this condition. */
export const ownService = (name: string) =>
  new ServicePrincipal(`${name}.amazonaws.com`, {
    conditions: { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } },
  });

/** Allows the use of the KMS key through one service only. */
export const allowKey = (actions: readonly string[], { keyArn }: IKey, service: string) =>
  allow(actions, keyArn, { StringEquals: { "kms:ViaService": `${service}.${Aws.REGION}.amazonaws.com` } });

export const allowListing = ({ bucket }: Storage) =>
  allow(["s3:ListBucket"], bucket.bucketArn, { StringLike: { "s3:prefix": `${filePrefix}*` } });

/** Reads that start in the same turn share one BatchGetItem. */
const tableActions = (actions: readonly TableAction[]) =>
  actions
    .flatMap((action) => (action === "GetItem" ? [action, "BatchGetItem"] : [action]))
    .map((action) => `dynamodb:${action}`);

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html */
const allowTableKey = ({ key }: Storage, { mayWrite }: { mayWrite: boolean }) =>
  allowKey(
    ["kms:Decrypt", "kms:DescribeKey", ...(mayWrite ? ["kms:Encrypt", "kms:GenerateDataKey"] : [])],
    key,
    "dynamodb",
  );

/**
 * Allows actions on the items in partitions whose keys match `patterns`. `ForAllValues` is also true for a request without the
 * condition key, which `Null` excludes.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
 */
const allowKeys = (actions: readonly TableAction[], { table }: Storage, patterns: string[]) =>
  allow(tableActions(actions), table.tableArn, {
    "ForAllValues:StringLike": { "dynamodb:LeadingKeys": patterns },
    Null: { "dynamodb:LeadingKeys": "false" },
  });

const partitions = (...of: readonly Key[]) => of.map(({ pk }) => pk);

const orders = partitions(keys.order("*"), keys.request("*"));
const accountOrders = partitions(keys.accountOrder("*", "*"));
const identities = partitions(keys.apiKey("*"), keys.apiKeyId("*"), keys.user("*"), keys.childAccount(null, "*"));
const accounts = partitions(keys.account("*"));
const downloads = partitions(...(["order", "request"] as const).map((type) => keys.download({ type, id: "*" }, "*")));
const switches = partitions(keys.switch("*"));

/** A part of the table that only some functions use. Every other function is denied to write it, and to read `switches`. */
export type TablePart = "identities" | "accounts" | "switches";

/**
 * Denies the granted actions in the partitions that a function does not use. `ForAnyValue` matches as soon as one partition of a call
 * does, and not at all without the condition key. So however AWS evaluates a transaction, these statements refuse nothing that a
 * function does, because none of its calls names such a partition.
 */
export const denials = (
  { table }: Storage,
  granted: readonly TableAction[],
  uses: readonly TablePart[],
): PolicyStatement[] => {
  const unused = (part: TablePart, all: readonly string[]) => (uses.includes(part) ? [] : all);
  const unwritten = [...unused("identities", identities), ...unused("accounts", accounts)];
  const untouched = unused("switches", switches);
  const deny = (actions: readonly TableAction[], patterns: readonly string[]) => {
    const denied = actions.filter((action) => granted.includes(action));
    if (denied.length === 0 || patterns.length === 0) return [];
    const statement = allow(tableActions(denied), table.tableArn, {
      "ForAnyValue:StringLike": { "dynamodb:LeadingKeys": patterns },
    });
    statement.effect = Effect.DENY;
    return [statement];
  };
  return [...deny(writes, [...unwritten, ...untouched]), ...deny(reads, untouched)];
};

const ordering = ["GetItem", "ConditionCheckItem", "PutItem", "UpdateItem"] as const;

/**
 * Permissions to apply orders and requests. A transaction reads and writes partitions of two statements, and AWS does not document
 * how it evaluates that. If it refuses, `orderingConditions: false` leaves the denials.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
 */
export const orderingGrants = (
  storage: Storage,
  { orderingConditions }: Pick<Settings, "orderingConditions">,
): PolicyStatement[] => [
  ...(orderingConditions
    ? [
        allowKeys(["GetItem", "ConditionCheckItem"], storage, [...accounts, ...accountOrders, ...orders]),
        allowKeys(["PutItem", "UpdateItem"], storage, [...accountOrders, ...orders]),
      ]
    : [allow(tableActions(ordering), storage.table.tableArn)]),
  ...denials(storage, ordering, ["accounts"]),
  allowTableKey(storage, { mayWrite: true }),
];

/** Permissions to apply every section. They exclude the partitions of switches, Idempotency-Keys and open checkouts. */
export const tenancyGrants = (storage: Storage): PolicyStatement[] => [
  allowKeys(ordering, storage, [...identities, ...accounts, ...accountOrders, ...orders]),
  ...denials(storage, ordering, ["identities", "accounts"]),
  allowTableKey(storage, { mayWrite: true }),
];

/**
 * Permissions to record that a file was read. They allow reading its parent, and putting events of downloads. These have a
 * partition of their own, because whoever may put an item into an order's partition could replace the order.
 */
export const evidenceGrants = (storage: Storage): PolicyStatement[] => [
  allowKeys(["GetItem", "Query"], storage, [...orders, ...downloads]),
  allowKeys(["PutItem"], storage, downloads),
  ...denials(storage, ["GetItem", "Query", "PutItem"], []),
  allowTableKey(storage, { mayWrite: true }),
];

/** The statements that allow exactly these grants, and the use of the KMS key through DynamoDB and S3 only. */
export const statementsFor = (storage: Storage, grants: Grants): PolicyStatement[] => {
  const { table, bucket, key } = storage;
  const statements: PolicyStatement[] = [];
  if (grants.table.length > 0) {
    const mayWrite = grants.table.some((action) => writes.includes(action));
    statements.push(allow(tableActions(grants.table), table.tableArn), allowTableKey(storage, { mayWrite }));
  }
  if (grants.files.length > 0) {
    const actions = grants.files.map((action) => fileActions[action].s3);
    const keyActions = grants.files.map((action) => fileActions[action].kms).filter((action) => action !== undefined);
    statements.push(allow(actions, bucket.arnForObjects(`${filePrefix}*`)));
    if (keyActions.length > 0) statements.push(allowKey(keyActions, key, "s3"));
    // Without s3:ListBucket, S3 returns 403 instead of 404 for a missing file. GetObject has no prefix to use in a condition.
    // https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
    if (grants.files.includes("GetObject")) statements.push(allow(["s3:ListBucket"], bucket.bucketArn));
  }
  return statements;
};
