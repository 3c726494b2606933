import { join } from "node:path";
import type { Duration } from "aws-cdk-lib";
import { PolicyDocument, type PolicyStatement, Role } from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import type { EntryPoint } from "../../shared/route.ts";
import { acknowledge } from "./acknowledge.ts";
import { signedEndpoint } from "./emulator.ts";
import { allow, denials, type Grants, ownService, statementsFor, type TablePart } from "./grants.ts";
import type { Settings } from "./settings.ts";
import type { Storage } from "./storage.ts";

export type Deployment = {
  readonly settings: Settings;
  readonly storage: Storage;
  /** The directory that `bundle()` has written. */
  readonly bundles: string;
  readonly deadLetters: IQueue;
  /** The log of all functions: each line names its route or step. */
  readonly logGroup: LogGroup;
};

type FunctionOptions = EntryPoint & {
  readonly grants: Grants;
  /** The parts of the table that it uses, in addition to orders and requests. The others are denied. */
  readonly uses?: readonly TablePart[];
  readonly timeout: Duration;
  readonly memoryMb?: number | undefined;
  /** How many invocations may run at once. Lambda reserves that many from the account's concurrency. */
  readonly concurrency?: number | null;
  /** While a function cannot run, Lambda sends asynchronous calls of it to the dead letters immediately. */
  readonly runsInMaintenance?: true;
  /** Receives events that failed on every retry, for a function that events invoke. */
  readonly deadLetterQueue?: IQueue;
  /** Variables in addition to TABLE_NAME and, for a function with access to files, BUCKET_NAME. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether events name its role as the operator. A function cannot know who invokes it, but CloudTrail records that. */
  readonly isOperator?: boolean;
  /** Whether X-Ray traces it, if the stage's `tracing` is true. */
  readonly isTraced?: boolean;
  readonly statements?: readonly PolicyStatement[];
};

/**
 * Creates a function with its own role, which allows only `grants`, `statements`, logs, traces and dead letters. Returns
 * the alias that all callers invoke. It refers to the newest version once infra/aws/rollout.ts has shifted the traffic.
 */
export const createFunction = (
  scope: Construct,
  { settings, storage, bundles, logGroup }: Deployment,
  options: FunctionOptions,
): lambda.IFunction => {
  const {
    name,
    file,
    handler = "handler",
    grants,
    timeout,
    memoryMb = 1024,
    environment = {},
    statements = [],
    uses = [],
    isTraced = true,
  } = options;
  const { deadLetterQueue, isOperator } = options;
  // In maintenance, functions do not run. Checkouts and events wait, and calls of other systems are throttled.
  const isStopped = settings.throttleRate === 0 && !options.runsInMaintenance;
  const concurrency = isStopped ? 0 : (options.concurrency ?? undefined);
  const failures = deadLetterQueue ? [allow(["sqs:SendMessage"], deadLetterQueue.queueArn)] : [];
  const s3 = grants.files.length > 0 ? signedEndpoint(settings.emulator) : undefined;
  const id = name.replaceAll("/", "-");
  const traced = settings.tracing && isTraced;
  const traces = traced ? [allow(["xray:PutTraceSegments", "xray:PutTelemetryRecords"], "*")] : [];
  const role = new Role(scope, `${id}-role`, {
    assumedBy: ownService("lambda"),
    description: `Patchbay: ${name}`,
    inlinePolicies: {
      grants: new PolicyDocument({
        statements: [
          ...statementsFor(storage, grants),
          ...denials(storage, grants.table, uses),
          ...statements,
          ...failures,
        ],
      }),
      // Lambda chooses the names of the log streams.
      logs: new PolicyDocument({
        statements: [allow(["logs:CreateLogStream", "logs:PutLogEvents"], logGroup.logGroupArn), ...traces],
      }),
    },
  });
  acknowledge(role, {
    "AwsSolutions-IAM5[Resource::*]":
      "X-Ray's PutTraceSegments and PutTelemetryRecords do not support resource-level permissions.",
  });
  const version = new lambda.Function(scope, id, {
    description: name,
    // Lambda ends it on 30 April 2028: https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtimes.html
    runtime: lambda.Runtime.NODEJS_24_X,
    architecture: settings.architecture,
    code: lambda.Code.fromAsset(join(bundles, file)),
    handler: `index.${handler}`,
    // Otherwise, CDK would create another policy per function. A stack can have 500 resources.
    role: role.withoutPolicyUpdates(),
    timeout,
    memorySize: memoryMb,
    ...(concurrency !== undefined && { reservedConcurrentExecutions: concurrency }),
    ...(deadLetterQueue && { deadLetterQueue }),
    tracing: traced ? lambda.Tracing.ACTIVE : lambda.Tracing.DISABLED,
    logGroup,
    loggingFormat: lambda.LoggingFormat.JSON,
    // LOG_LEVEL filters instead, because a higher level here would also drop the sweep's metrics.
    applicationLogLevelV2: lambda.ApplicationLogLevel.INFO,
    // INFO includes Lambda's REPORT lines with memory, billed time and cold starts, which WARN hides.
    systemLogLevelV2: settings.logLevel === "INFO" ? lambda.SystemLogLevel.INFO : lambda.SystemLogLevel.WARN,
    environment: {
      TABLE_NAME: storage.table.tableName,
      LOG_LEVEL: settings.logLevel,
      STACK_NAME: settings.stackName,
      ...(grants.files.length > 0 && { BUCKET_NAME: storage.bucket.bucketName }),
      ...(s3 && { AWS_ENDPOINT_URL_S3: s3 }),
      ...(isOperator && { OPERATOR: role.roleArn }),
      ...environment,
    },
  });
  // @ts-expect-error aws-cdk-lib's Alias is not its own IFunction under exactOptionalPropertyTypes (role)
  return version.addAlias("live");
};
