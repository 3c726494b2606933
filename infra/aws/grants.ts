import type { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { FileAction, TableAction } from "../../shared/routes.ts";
import { filePrefix } from "../../shared/table/keys.ts";
import type { Storage } from "./storage.ts";

/** What the row of a route or a step allows its function to do. */
export type Access = {
  readonly table: readonly TableAction[];
  readonly files: readonly FileAction[];
};

const writes: readonly TableAction[] = ["PutItem", "UpdateItem", "DeleteItem"];

/** What each action on a file asks of S3 and of the key: S3 makes a data key to write, opens it to read, and needs none to delete. */
const fileActions = {
  PutObject: { s3: "s3:PutObject", key: "kms:GenerateDataKey" },
  GetObject: { s3: "s3:GetObject", key: "kms:Decrypt" },
  DeleteObject: { s3: "s3:DeleteObject", key: undefined },
} as const;

/** The statements that give exactly this access, and the use of the key through the service concerned only. */
export const grants = (stack: Stack, { table, bucket, key }: Storage, access: Access): PolicyStatement[] => {
  const through = (service: "dynamodb" | "s3", actions: readonly string[]) =>
    new PolicyStatement({
      actions: [...actions],
      resources: [key.keyArn],
      conditions: { StringEquals: { "kms:ViaService": `${service}.${stack.region}.amazonaws.com` } },
    });
  const statements: PolicyStatement[] = [];
  if (access.table.length > 0) {
    const mayWrite = access.table.some((action) => writes.includes(action));
    statements.push(
      new PolicyStatement({
        actions: access.table.map((action) => `dynamodb:${action}`),
        resources: [table.tableArn],
      }),
      // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
      through("dynamodb", [
        "kms:Decrypt",
        "kms:DescribeKey",
        ...(mayWrite ? ["kms:Encrypt", "kms:GenerateDataKey"] : []),
      ]),
    );
  }
  if (access.files.length > 0) {
    const keyActions = access.files.map((action) => fileActions[action].key).filter((action) => action !== undefined);
    statements.push(
      new PolicyStatement({
        actions: access.files.map((action) => fileActions[action].s3),
        resources: [bucket.arnForObjects(`${filePrefix}*`)],
      }),
    );
    if (keyActions.length > 0) statements.push(through("s3", keyActions));
    // Without it, S3 returns 403 instead of 404 for a file that is gone. A read knows no prefix to make it conditional on.
    // https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
    if (access.files.includes("GetObject"))
      statements.push(new PolicyStatement({ actions: ["s3:ListBucket"], resources: [bucket.bucketArn] }));
  }
  return statements;
};
