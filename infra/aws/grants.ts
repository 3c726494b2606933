import { Aws } from "aws-cdk-lib";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Key } from "aws-cdk-lib/aws-kms";
import { filePrefix } from "../../shared/attachments/file-keys.ts";
import type { Route, TableAction } from "../../shared/route.ts";
import { keys } from "../../shared/table/keys.ts";
import type { Storage } from "./storage.ts";

export type Grants = Route["grants"];

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
export const allowKey = (actions: readonly string[], { keyArn }: Key, service: string) =>
  allow(actions, keyArn, { StringEquals: { "kms:ViaService": `${service}.${Aws.REGION}.amazonaws.com` } });

export const allowListing = ({ bucket }: Storage) =>
  allow(["s3:ListBucket"], bucket.bucketArn, { StringLike: { "s3:prefix": `${filePrefix}*` } });

/** Reads that start in the same turn share one BatchGetItem. */
const tableActions = (actions: readonly TableAction[]) =>
  actions
    .flatMap((action) => (action === "GetItem" ? [action, "BatchGetItem"] : [action]))
    .map((action) => `dynamodb:${action}`);

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html */
const allowTableKey = (mayWrite: boolean, { key }: Storage) =>
  allowKey(
    ["kms:Decrypt", "kms:DescribeKey", ...(mayWrite ? ["kms:Encrypt", "kms:GenerateDataKey"] : [])],
    key,
    "dynamodb",
  );

/**
 * Allows actions on the items in partitions whose keys match `patterns`, with only these attributes if given. `ForAllValues` is also
 * true for a request without the condition key, which `Null` excludes.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
 */
const allowKeys = (actions: readonly TableAction[], { table }: Storage, patterns: string[], attributes?: string[]) =>
  allow(tableActions(actions), table.tableArn, {
    "ForAllValues:StringLike": { "dynamodb:LeadingKeys": patterns },
    ...(attributes && { "ForAllValues:StringEquals": { "dynamodb:Attributes": attributes } }),
    Null: { "dynamodb:LeadingKeys": "false", ...(attributes && { "dynamodb:Attributes": "false" }) },
  });

const orders = [keys.order("*").pk, keys.request("*").pk];
const account = keys.account("*").pk;

/**
 * Permissions to apply orders and requests. Conditions can test the partition key but not the sort key, and the list of an account's
 * orders is in the account's partition. Items written there may therefore have only a key and an id.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
 */
export const orderingGrants = (storage: Storage): PolicyStatement[] => [
  allowKeys(["GetItem"], storage, [account, ...orders]),
  allowKeys(["PutItem", "UpdateItem"], storage, orders),
  allowKeys(["PutItem"], storage, [account], ["pk", "sk", "id"]),
  allowTableKey(true, storage),
];

const tenants = [keys.user("*"), keys.apiKey("*"), keys.apiKeyId("*"), keys.childAccount(null, "*")].map(
  ({ pk }) => pk,
);

/** Permissions to apply every section. They exclude the partitions of switches, Idempotency-Keys and open checkouts. */
export const tenancyGrants = (storage: Storage): PolicyStatement[] => [
  allowKeys(["GetItem", "PutItem", "UpdateItem"], storage, [account, ...tenants, ...orders]),
  allowTableKey(true, storage),
];

const eventAttributes = "pk sk id type at account actor resource parent changed request_id expires_at".split(" ");

/** Permissions to record that a file was read: to read its parent, and to put an item there that has only an event's attributes. */
export const evidenceGrants = (storage: Storage): PolicyStatement[] => [
  allowKeys(["GetItem", "Query"], storage, orders),
  allowKeys(["PutItem"], storage, orders, eventAttributes),
  allowTableKey(true, storage),
];

/** The statements that allow exactly these grants, and the use of the KMS key through DynamoDB and S3 only. */
export const statementsFor = (storage: Storage, grants: Grants): PolicyStatement[] => {
  const { table, bucket, key } = storage;
  const statements: PolicyStatement[] = [];
  if (grants.table.length > 0) {
    const mayWrite = grants.table.some((action) => writes.includes(action));
    statements.push(allow(tableActions(grants.table), table.tableArn), allowTableKey(mayWrite, storage));
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
