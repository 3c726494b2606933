import type { Stack } from "aws-cdk-lib";
import type { Alarm } from "aws-cdk-lib/aws-cloudwatch";
import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from "aws-cdk-lib/aws-codedeploy";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Alias } from "aws-cdk-lib/aws-lambda";
import { acknowledge } from "./acknowledge.ts";

/**
 * Shifts a tenth of the traffic of every alias in the stack to its new version, and the rest ten minutes later: the alarms need five.
 * If one is raised, CodeDeploy shifts the traffic back, and CloudFormation undoes the whole deployment.
 */
export const createRollout = (stack: Stack, alarms: Alarm[]): void => {
  const application = new LambdaApplication(stack, "Rollout");
  const role = new Role(stack, "RolloutRole", {
    assumedBy: new ServicePrincipal("codedeploy.amazonaws.com"),
    description: "Patchbay: CodeDeploy shifts traffic between versions of functions",
  });
  acknowledge(role, {
    "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited]":
      "CodeDeploy's documentation requires this managed policy, which allows moving aliases and reading alarms.",
  });
  const deploymentConfig = LambdaDeploymentConfig.CANARY_10PERCENT_10MINUTES;
  for (const alias of stack.node.findAll())
    if (alias instanceof Alias)
      new LambdaDeploymentGroup(alias, "Rollout", { alias, application, role, alarms, deploymentConfig });
};
