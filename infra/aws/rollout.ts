import type { Stack } from "aws-cdk-lib";
import type { Alarm } from "aws-cdk-lib/aws-cloudwatch";
import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from "aws-cdk-lib/aws-codedeploy";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Alias, CfnAlias, type IFunction } from "aws-cdk-lib/aws-lambda";
import { acknowledge } from "./acknowledge.ts";
import { killsOf } from "./operations.ts";

/** How many deployments run at once: together they stay below the 15 requests a second that Lambda's control plane takes. */
const size = 8;

export const wavesOf = (functions: readonly IFunction[]): IFunction[][] =>
  Array.from({ length: Math.ceil(functions.length / size) }, (_, wave) =>
    functions.slice(wave * size, (wave + 1) * size),
  );

/**
 * Shifts a tenth of the calls of each of these functions to its new version, and the rest five minutes later, which is as long as an
 * alarm takes. If one is raised, CodeDeploy shifts them back, and CloudFormation undoes the whole deployment. Each function waits
 * for the one in its place in the wave before. All other functions move at once: the retries of their callers would hide a fault.
 */
export const createRollout = (
  stack: Stack,
  waves: readonly (readonly IFunction[])[],
  alarmNamed: (name: string) => Alarm[],
): void => {
  const application = new LambdaApplication(stack, "Rollout");
  const role = new Role(stack, "RolloutRole", {
    assumedBy: new ServicePrincipal("codedeploy.amazonaws.com"),
    description: "Patchbay: CodeDeploy shifts traffic between versions of functions",
  });
  acknowledge(role, {
    "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited]":
      "CodeDeploy's documentation requires this managed policy, which allows moving aliases and reading alarms.",
  });
  const deploymentConfig = LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES;
  for (const [index, wave] of waves.entries()) {
    const alarms = ["Defects", killsOf(index)].flatMap(alarmNamed);
    for (const [place, alias] of wave.entries()) {
      if (!(alias instanceof Alias)) throw new Error("A function is released by its alias.");
      new LambdaDeploymentGroup(alias, "Rollout", { alias, application, role, alarms, deploymentConfig });
      const before = waves[index - 1]?.[place];
      if (before) aliasOf(alias).addResourceDependency(aliasOf(before));
    }
  }
};

const aliasOf = ({ node: { defaultChild } }: IFunction): CfnAlias => {
  if (!(defaultChild instanceof CfnAlias)) throw new Error("CDK no longer creates a CfnAlias for an Alias.");
  return defaultChild;
};
