import { join } from "node:path";
import { type Duration, Stack } from "aws-cdk-lib";
import { PolicyDocument, type PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  ApplicationLogLevel,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { filePrefix } from "../../shared/attachments/file-keys.ts";
import { acknowledge, logicalId } from "./acknowledge.ts";
import { handlerName } from "./bundle.ts";
import { type Access, allow, grants } from "./grants.ts";
import type { Settings } from "./settings.ts";
import type { Storage } from "./storage.ts";

/** What all functions of a deployment share. `bundles` is the directory that `bundle()` has written. */
export type Deployment = { readonly settings: Settings; readonly storage: Storage; readonly bundles: string };

type FunctionOptions = {
  /** The path below `functions/`, without `.ts`. */
  readonly name: string;
  readonly access: Access;
  readonly timeout: Duration;
  readonly memoryMb?: number | undefined;
  /** How many invocations may run at once. Lambda reserves as much of the account's concurrency. */
  readonly concurrency?: number | null;
  /** In addition to TABLE_NAME and, for a function with access to files, BUCKET_NAME. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly statements?: readonly PolicyStatement[];
};

/** Creates a function with its own log group and its own role, which allows only what `access` lists. */
export const createFunction = (
  scope: Construct,
  { settings, storage, bundles }: Deployment,
  options: FunctionOptions,
) => {
  const { name, access, timeout, memoryMb = 1024, concurrency, environment = {}, statements = [] } = options;
  const id = name.replaceAll("/", "-");
  const logGroup = new LogGroup(scope, `${id}-logs`, {
    retention: settings.logRetentionDays,
    removalPolicy: settings.removalPolicy,
  });
  const role = new Role(scope, `${id}-role`, {
    assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    description: `Patchbay: functions/${name}.ts`,
    inlinePolicies: {
      access: new PolicyDocument({ statements: [...grants(Stack.of(scope), storage, access), ...statements] }),
      // Lambda chooses the names of the log streams.
      logs: new PolicyDocument({
        statements: [allow(["logs:CreateLogStream", "logs:PutLogEvents"], logGroup.logGroupArn)],
      }),
    },
  });
  acknowledge(role, {
    "AwsSolutions-IAM5[Resource::*]":
      "X-Ray's PutTraceSegments and PutTelemetryRecords do not support resource-level permissions.",
    [`AwsSolutions-IAM5[Resource::<${logicalId(storage.bucket)}.Arn>/${filePrefix}*]`]:
      "The name of a file contains the day and the ids of its upload. The prefix is the narrowest pattern that matches all files.",
  });
  return new LambdaFunction(scope, id, {
    description: `functions/${name}.ts`,
    runtime: Runtime.NODEJS_24_X,
    architecture: settings.architecture,
    code: Code.fromAsset(join(bundles, name)),
    handler: handlerName,
    role,
    timeout,
    memorySize: memoryMb,
    ...(concurrency && { reservedConcurrentExecutions: concurrency }),
    tracing: Tracing.ACTIVE,
    logGroup,
    loggingFormat: LoggingFormat.JSON,
    applicationLogLevelV2: ApplicationLogLevel.INFO,
    // Includes Lambda's REPORT lines with memory, billed time and cold starts, which WARN hides.
    systemLogLevelV2: SystemLogLevel.INFO,
    environment: {
      TABLE_NAME: storage.table.tableName,
      ...(access.files.length > 0 && { BUCKET_NAME: storage.bucket.bucketName }),
      ...environment,
    },
  });
};
