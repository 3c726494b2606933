import { CfnResource, Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import * as dynamodb from "aws-cdk-lib/aws-dynamodb";
import { Key } from "aws-cdk-lib/aws-kms";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import * as s3 from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { filePrefix } from "../../shared/attachments/file-keys.ts";
import { recoveryDays } from "../../shared/limits.ts";
import { lookupIndex } from "../../shared/table/keys.ts";
import { acknowledge, logicalId } from "./acknowledge.ts";
import type { Settings } from "./settings.ts";

export type Storage = ReturnType<typeof createStorage>;

/** Creates the table, the bucket, and the KMS key that encrypts both. */
export const createStorage = (scope: Construct, settings: Settings) => {
  const key = new Key(scope, "Key", {
    description: "Patchbay: encrypts the table, the files, the carrier's token and the alarms",
    enableKeyRotation: true,
    pendingWindow: Duration.days(settings.retainData ? 30 : 7),
    removalPolicy: settings.removalPolicy,
  });
  const table = storedTable(scope, settings, key);
  const bucket = filesBucket(scope, settings, key);
  acknowledge(Stack.of(scope), {
    [`AwsSolutions-IAM5[Resource::<${logicalId(bucket)}.Arn>/${filePrefix}*]`]:
      "The name of a file contains the day and the ids of its upload. The prefix is the narrowest pattern that matches all files.",
  });
  return { key, table, bucket };
};

/**
 * The stack's own table, or one restored from a backup. A restored table has its own logical id, so that every function is updated to
 * refer to it, and a name, by which CloudFormation imports it: cdk deploy --import-existing-resources.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-automatically.html
 */
const storedTable = (scope: Construct, settings: Settings, encryptionKey: Key) => {
  const { retainData, restoredTable, maxReadUnits, maxWriteUnits } = settings;
  const parent = restoredTable ? new Construct(scope, restoredTable) : scope;
  const table = new dynamodb.Table(parent, "Table", {
    ...(restoredTable && { tableName: restoredTable }),
    partitionKey: { name: "pk", type: dynamodb.AttributeType.STRING },
    sortKey: { name: "sk", type: dynamodb.AttributeType.STRING },
    billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
    ...(maxReadUnits && { maxReadRequestUnits: maxReadUnits }),
    ...(maxWriteUnits && { maxWriteRequestUnits: maxWriteUnits }),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true, recoveryPeriodInDays: recoveryDays },
    timeToLiveAttribute: "expires_at",
    stream: dynamodb.StreamViewType.NEW_IMAGE,
    encryption: dynamodb.TableEncryption.CUSTOMER_MANAGED,
    encryptionKey,
    // CloudFormation cannot delete a protected table, so an empty one remains if the creation of its stack fails.
    deletionProtection: retainData,
    removalPolicy: retainData || restoredTable ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
  });
  table.addGlobalSecondaryIndex({
    indexName: lookupIndex,
    partitionKey: { name: lookupIndex, type: dynamodb.AttributeType.STRING },
    projectionType: dynamodb.ProjectionType.KEYS_ONLY,
  });
  return table;
};

const commonProps = (settings: Settings) => ({
  blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
  objectOwnership: s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
  enforceSSL: true,
  minimumTLSVersion: 1.2,
  removalPolicy: settings.removalPolicy,
});

/**
 * A stage that retains its data keeps a deleted file as long as the table can be restored to a time when it existed. No function and
 * no policy of the stack allows deleting a version. S3 removes versions once a day, so it can take a day longer.
 */
const filesBucket = (scope: Construct, settings: Settings, encryptionKey: Key) => {
  // @ts-expect-error aws-cdk-lib's Bucket is not its own IBucket under exactOptionalPropertyTypes (isWebsite)
  const logged: Pick<s3.BucketProps, "serverAccessLogsBucket" | "serverAccessLogsPrefix"> = settings.retainData
    ? { serverAccessLogsBucket: accessLogs(scope, settings), serverAccessLogsPrefix: "files/" }
    : {};
  const files = new s3.Bucket(scope, "Files", {
    ...logged,
    ...commonProps(settings),
    encryption: s3.BucketEncryption.KMS,
    encryptionKey,
    // Saves a call to KMS for each file.
    bucketKeyEnabled: true,
    autoDeleteObjects: settings.emptyBucket,
    cors: uploadCors(settings),
    versioned: settings.retainData,
    lifecycleRules: [
      { id: "abort-incomplete-uploads", abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ...(settings.retainData ? [deletedFiles] : []),
    ],
  });
  if (settings.emptyBucket) addEmptyingLogs(files, settings);
  if (!settings.retainData)
    acknowledge(files, {
      "AwsSolutions-S1":
        "A sandbox has no customer data, and access logs, which S3 delivers hours later, would prevent its deletion. Production has access logs.",
    });
  return files;
};

const deletedFiles: s3.LifecycleRule = {
  id: "expire-deleted-files",
  noncurrentVersionExpiration: Duration.days(recoveryDays),
  // Removes delete markers that have no versions left.
  expiredObjectDeleteMarker: true,
};

/** Lets web pages of these origins send a file to a signed URL, and nothing else. Clients that are not browsers need no CORS. */
const uploadCors = ({ uploadOrigins }: Settings): s3.CorsRule[] => {
  if (!uploadOrigins?.length) return [];
  const allowedHeaders = ["content-type", "if-none-match", "x-amz-checksum-sha256"];
  return [{ allowedMethods: [s3.HttpMethods.PUT], allowedOrigins: [...uploadOrigins], allowedHeaders, maxAge: 3_600 }];
};

/** Otherwise, CDK's function that empties the bucket would create a log group that outlives the stack. */
const addEmptyingLogs = (bucket: s3.Bucket, settings: Settings) => {
  const handler = Stack.of(bucket).node.findChild("Custom::S3AutoDeleteObjectsCustomResourceProvider");
  const logs = new LogGroup(handler, "Logs", settings.logs);
  const resource = handler.node.findChild("Handler");
  if (!CfnResource.isCfnResource(resource)) throw new Error("CDK no longer creates a CfnResource for this function.");
  resource.addPropertyOverride("LoggingConfig.LogGroup", logs.logGroupName);
};

const accessLogs = (scope: Construct, settings: Settings) => {
  const logs = new s3.Bucket(scope, "FileAccessLogs", {
    ...commonProps(settings),
    // S3 does not deliver access logs to buckets with a customer managed key.
    encryption: s3.BucketEncryption.S3_MANAGED,
    lifecycleRules: [{ id: "expire", expiration: Duration.days(365) }],
  });
  acknowledge(logs, {
    "AwsSolutions-S1": "This bucket receives the access logs. Logging the access to it would create an endless loop.",
  });
  return logs;
};
