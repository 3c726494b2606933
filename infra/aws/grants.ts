import { Aws } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Key } from "aws-cdk-lib/aws-kms";
import { filePrefix } from "../../shared/attachments/file-keys.ts";
import type { Route, TableAction } from "../../shared/route.ts";
import type { Storage } from "./storage.ts";

export type Access = Route["access"];

const writes: readonly TableAction[] = ["PutItem", "UpdateItem", "DeleteItem"];

/** S3 generates a data key to write a file, decrypts it to read one, and needs none to delete one. */
const fileActions = {
  PutObject: { s3: "s3:PutObject", kms: "kms:GenerateDataKey" },
  GetObject: { s3: "s3:GetObject", kms: "kms:Decrypt" },
  DeleteObject: { s3: "s3:DeleteObject", kms: undefined },
} as const;

export const allow = (actions: readonly string[], resource: string, conditions?: Readonly<Record<string, unknown>>) =>
  new PolicyStatement({ actions: [...actions], resources: [resource], ...(conditions && { conditions }) });

/** Allows the use of the KMS key through one service only. */
export const allowKey = (actions: readonly string[], { keyArn }: Key, service: string) =>
  allow(actions, keyArn, { StringEquals: { "kms:ViaService": `${service}.${Aws.REGION}.amazonaws.com` } });

/** The statements that allow exactly this access, and the use of the KMS key through DynamoDB and S3 only. */
export const grants = ({ table, bucket, key }: Storage, access: Access): PolicyStatement[] => {
  const statements: PolicyStatement[] = [];
  if (access.table.length > 0) {
    const mayWrite = access.table.some((action) => writes.includes(action));
    // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
    const keyActions = ["kms:Decrypt", "kms:DescribeKey", ...(mayWrite ? ["kms:Encrypt", "kms:GenerateDataKey"] : [])];
    // Reads that start in the same turn are one BatchGetItem.
    const actions = access.table
      .flatMap((action) => (action === "GetItem" ? [action, "BatchGetItem"] : [action]))
      .map((action) => `dynamodb:${action}`);
    statements.push(allow(actions, table.tableArn), allowKey(keyActions, key, "dynamodb"));
  }
  if (access.files.length > 0) {
    const actions = access.files.map((action) => fileActions[action].s3);
    const keyActions = access.files.map((action) => fileActions[action].kms).filter((action) => action !== undefined);
    statements.push(allow(actions, bucket.arnForObjects(`${filePrefix}*`)));
    if (keyActions.length > 0) statements.push(allowKey(keyActions, key, "s3"));
    // Without s3:ListBucket, S3 returns 403 instead of 404 for a missing file. GetObject has no prefix to use in a condition.
    // https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
    if (access.files.includes("GetObject")) statements.push(allow(["s3:ListBucket"], bucket.bucketArn));
  }
  return statements;
};
