import { Duration } from "aws-cdk-lib";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { applyName } from "./bundle.ts";
import { createFunction, type Deployment } from "./function.ts";

/** Creates the function through which other systems manage accounts, users, API keys, orders and requests. */
export const createApply = (scope: Construct, deployment: Deployment): IFunction =>
  createFunction(scope, deployment, {
    name: applyName,
    access: { table: ["GetItem", "PutItem", "UpdateItem"], files: [] },
    timeout: Duration.minutes(5),
    isOperator: true,
  });
