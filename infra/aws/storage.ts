import { CfnResource, Duration, Stack } from "aws-cdk-lib";
import { AttributeType, BillingMode, type ITable, Table, TableEncryption } from "aws-cdk-lib/aws-dynamodb";
import { Key } from "aws-cdk-lib/aws-kms";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type BucketProps,
  type CorsRule,
  HttpMethods,
  ObjectOwnership,
} from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import { accept } from "./accept.ts";
import type { Settings } from "./settings.ts";

export type Storage = ReturnType<typeof storage>;

/** The table, the bucket, and the key that encrypts both. */
export const storage = (scope: Construct, settings: Settings) => {
  const key = new Key(scope, "Key", {
    description: "Patchbay: its table, its files, its carrier secret and its alarms",
    enableKeyRotation: true,
    pendingWindow: Duration.days(settings.retainData ? 30 : 7),
    removalPolicy: settings.removalPolicy,
  });
  const table: StoredTable = restoredTable(scope, settings) ?? ownTable(scope, settings, key);
  return { key, table, bucket: bucket(scope, settings, key) };
};

const ownTable = (scope: Construct, { retainData, protectTable, removalPolicy }: Settings, encryptionKey: Key) =>
  new Table(scope, "Table", {
    partitionKey: { name: "pk", type: AttributeType.STRING },
    sortKey: { name: "sk", type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    timeToLiveAttribute: "expires_at",
    encryption: TableEncryption.CUSTOMER_MANAGED,
    encryptionKey,
    deletionProtection: retainData && protectTable === "true",
    removalPolicy,
  });

/** What the rest of the stack uses of a table, its own or a restored one. */
export type StoredTable = Pick<ITable, "tableArn" | "tableName" | "metric">;

const restoredTable = (scope: Construct, { restoredTable: name }: Settings): StoredTable | undefined =>
  name ? Table.fromTableName(scope, "RestoredTable", name) : undefined;

const common = (settings: Settings) => ({
  blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
  objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
  enforceSSL: true,
  minimumTLSVersion: 1.2,
  removalPolicy: settings.removalPolicy,
});

/** Not versioned: whoever deletes an attachment wants its file gone, and the interface promises just that. */
const bucket = (scope: Construct, settings: Settings, encryptionKey: Key) => {
  // @ts-expect-error aws-cdk-lib's Bucket is not its own IBucket under exactOptionalPropertyTypes (isWebsite)
  const logged: Pick<BucketProps, "serverAccessLogsBucket" | "serverAccessLogsPrefix"> = settings.retainData
    ? { serverAccessLogsBucket: accessLogs(scope, settings), serverAccessLogsPrefix: "files/" }
    : {};
  const files = new Bucket(scope, "Files", {
    ...logged,
    ...common(settings),
    encryption: BucketEncryption.KMS,
    encryptionKey,
    // One call to KMS for many files, in place of one for each.
    bucketKeyEnabled: true,
    autoDeleteObjects: settings.emptyBucket,
    cors: uploadCors(settings),
    lifecycleRules: [{ id: "abort-incomplete-uploads", abortIncompleteMultipartUploadAfter: Duration.days(1) }],
  });
  if (settings.emptyBucket) keepEmptyingTidy(files, settings);
  if (!settings.retainData)
    accept(files, {
      "AwsSolutions-S1":
        "A sandbox holds no customer's files, and logs that S3 delivers hours later would keep it from being removed. Production has them.",
    });
  return files;
};

/** Lets the scripts of these origins send what a signed URL asks for, and nothing else. Other clients need no CORS. */
const uploadCors = ({ uploadOrigins }: Settings): CorsRule[] =>
  (uploadOrigins ?? []).length === 0
    ? []
    : [
        {
          allowedMethods: [HttpMethods.PUT],
          allowedOrigins: [...(uploadOrigins ?? [])],
          allowedHeaders: ["content-type", "x-amz-checksum-sha256"],
          maxAge: 3_600,
        },
      ];

/** CDK's function that empties a bucket makes its log group by itself, and would leave it behind. */
const keepEmptyingTidy = (bucket: Bucket, { logRetention: retention, removalPolicy }: Settings) => {
  const handler = Stack.of(bucket).node.findChild("Custom::S3AutoDeleteObjectsCustomResourceProvider");
  const logs = new LogGroup(handler, "Logs", { retention, removalPolicy });
  const resource = handler.node.findChild("Handler");
  if (!CfnResource.isCfnResource(resource)) throw new Error("CDK makes this function in another way by now.");
  resource.addPropertyOverride("LoggingConfig.LogGroup", logs.logGroupName);
};

const accessLogs = (scope: Construct, settings: Settings) => {
  const logs = new Bucket(scope, "FileAccessLogs", {
    ...common(settings),
    // S3 delivers its logs only into buckets with its own keys.
    encryption: BucketEncryption.S3_MANAGED,
    lifecycleRules: [{ id: "expire", expiration: Duration.days(365) }],
  });
  accept(logs, {
    "AwsSolutions-S1": "This is the bucket of the access logs: to log its own log deliveries would not end.",
  });
  return logs;
};
