import { join } from "node:path";
import { type Duration, Stack } from "aws-cdk-lib";
import { Effect, PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
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
import { filePrefix } from "../../shared/table/keys.ts";
import { accept, logicalId } from "./accept.ts";
import { handlerName } from "./bundle.ts";
import { type Access, grants } from "./grants.ts";
import type { Settings } from "./settings.ts";
import type { Storage } from "./storage.ts";

/** What all functions share. `bundles` is the directory that `bundle()` wrote. */
export type Surroundings = { readonly settings: Settings; readonly storage: Storage; readonly bundles: string };

type FunctionOptions = {
  /** Its file below `functions/`. */
  readonly name: string;
  readonly access: Access;
  readonly timeout: Duration;
  readonly memoryMb?: number | undefined;
  /** Beyond the table's name, and the bucket's where it may touch files. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly statements?: readonly PolicyStatement[];
};

/** Creates a function with a role of its own, which allows what its access lists, a log group, and tracing. */
export const functionOf = (
  scope: Construct,
  { settings, storage, bundles }: Surroundings,
  options: FunctionOptions,
) => {
  const { name, access, timeout, memoryMb = 1024, environment = {}, statements = [] } = options;
  const id = name.replaceAll("/", "-");
  const logGroup = new LogGroup(scope, `${id}-logs`, {
    retention: settings.logRetention,
    removalPolicy: settings.removalPolicy,
  });
  const role = new Role(scope, `${id}-role`, {
    assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    description: `Patchbay: functions/${name}.ts`,
    inlinePolicies: {
      access: new PolicyDocument({ statements: [...grants(Stack.of(scope), storage, access), ...statements] }),
      // The stack writes to one group: the name of its streams is Lambda's to choose.
      logs: new PolicyDocument({
        statements: [allow(["logs:CreateLogStream", "logs:PutLogEvents"], logGroup.logGroupArn)],
      }),
    },
  });
  accept(role, {
    "AwsSolutions-IAM5[Resource::*]": "X-Ray's PutTraceSegments and PutTelemetryRecords know no resources to name.",
    [`AwsSolutions-IAM5[Resource::<${logicalId(storage.bucket)}.Arn>/${filePrefix}*]`]:
      "A file's key holds the day and the ids of its upload: its prefix is the narrowest name that fits them all.",
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
    tracing: Tracing.ACTIVE,
    logGroup,
    loggingFormat: LoggingFormat.JSON,
    applicationLogLevelV2: ApplicationLogLevel.INFO,
    // With Lambda's REPORT lines, which have the memory used, the billed time and cold starts. WARN hides them.
    systemLogLevelV2: SystemLogLevel.INFO,
    environment: {
      TABLE_NAME: storage.table.tableName,
      ...(access.files.length > 0 && { BUCKET_NAME: storage.bucket.bucketName }),
      ...environment,
    },
  });
};

export const allow = (actions: readonly string[], resource: string, conditions?: Readonly<Record<string, unknown>>) =>
  new PolicyStatement({
    effect: Effect.ALLOW,
    actions: [...actions],
    resources: [resource],
    ...(conditions && { conditions }),
  });
