import { Duration } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction as LambdaTarget } from "aws-cdk-lib/aws-events-targets";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { filePrefix } from "../../shared/attachments/file-keys.ts";
import { otherFunctions } from "./bundle.ts";
import { createFunction, type Deployment } from "./function.ts";
import { allow } from "./grants.ts";

/** Creates the daily sweep, which removes the files without metadata that a crash can leave behind. */
export const createSweep = (scope: Construct, deployment: Deployment): IFunction => {
  const { storage, deadLetters: deadLetterQueue } = deployment;
  const handler = createFunction(scope, deployment, {
    name: otherFunctions.sweep,
    grants: { table: ["GetItem", "PutItem", "DeleteItem"], files: ["DeleteObject"] },
    timeout: Duration.minutes(15),
    deadLetterQueue,
    statements: [allow(["s3:ListBucket"], storage.bucket.bucketArn, { StringLike: { "s3:prefix": `${filePrefix}*` } })],
  });
  new Rule(scope, "SweepDaily", {
    description: "Removes files without metadata",
    schedule: Schedule.cron({ hour: "3", minute: "17" }),
    targets: [new LambdaTarget(handler, { deadLetterQueue })],
  });
  return handler;
};
