import { Duration } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction as LambdaTarget } from "aws-cdk-lib/aws-events-targets";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { filePrefix } from "../../shared/table/keys.ts";
import { allow, functionOf, type Surroundings } from "./function.ts";
import { sweepName } from "./inventory.ts";

/** Removes, once a day, the files without metadata that a crash can leave behind. */
export const sweep = (scope: Construct, surroundings: Surroundings): LambdaFunction => {
  const handler = functionOf(scope, surroundings, {
    name: sweepName,
    access: { table: ["GetItem", "BatchGetItem", "PutItem", "DeleteItem"], files: ["DeleteObject"] },
    timeout: Duration.minutes(15),
    statements: [
      allow(["s3:ListBucket"], surroundings.storage.bucket.bucketArn, {
        StringLike: { "s3:prefix": `${filePrefix}*` },
      }),
    ],
  });
  new Rule(scope, "SweepDaily", {
    description: "Removes files without metadata",
    schedule: Schedule.cron({ hour: "3", minute: "17" }),
    targets: [new LambdaTarget(handler)],
  });
  return handler;
};
