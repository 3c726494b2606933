import type { Stack } from "aws-cdk-lib";
import type { Alarm } from "aws-cdk-lib/aws-cloudwatch";
import {
  type ILambdaDeploymentConfig,
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
} from "aws-cdk-lib/aws-codedeploy";
import { PolicyDocument, PolicyStatement, Role } from "aws-cdk-lib/aws-iam";
import { Alias, CfnAlias, type IFunction } from "aws-cdk-lib/aws-lambda";
import { CfnStateMachine } from "aws-cdk-lib/aws-stepfunctions";
import { acknowledge } from "./acknowledge.ts";
import { allow, ownService } from "./grants.ts";
import { killsOf } from "./operations.ts";

/** How many deployments run at once. Together, they stay below the 15 requests a second that Lambda's control plane allows. */
const size = 8;

export const wavesOf = (functions: readonly IFunction[]): IFunction[][] =>
  Array.from({ length: Math.ceil(functions.length / size) }, (_, wave) =>
    functions.slice(wave * size, (wave + 1) * size),
  );

/** The functions that are released step by step, and the one that is released at the end of each deployment. */
type Rollout = { readonly waves: readonly (readonly IFunction[])[]; readonly last: IFunction };

/**
 * Shifts a tenth of the calls of each function in a wave to its new version, and the rest ten minutes later. If an alarm is raised,
 * CodeDeploy shifts the calls back, and CloudFormation rolls back the whole deployment. Each function waits for the one at the same
 * place in the previous wave. All other functions move at once, because their callers' retries would hide a fault from a canary.
 *
 * The last function waits for all others, and takes 15 more minutes, during which the alarms monitor all of them. It is one that is
 * called once a day, and that has a new version in each deployment that changes anything. Three waves and the last function take
 * 50 minutes; the session of a role that deploys ends after an hour.
 */
export const createRollout = (stack: Stack, { waves, last }: Rollout, alarmNamed: (name: string) => Alarm[]): void => {
  const application = new LambdaApplication(stack, "Rollout");
  const role = rolloutRole(stack, [...waves.flat(), last].map(asAlias));
  const release = (alias: Alias, alarms: readonly string[], deploymentConfig: ILambdaDeploymentConfig) =>
    new LambdaDeploymentGroup(alias, "Rollout", {
      alias,
      application,
      role,
      deploymentConfig,
      alarms: alarms.flatMap(alarmNamed),
    });
  for (const [index, wave] of waves.entries())
    for (const [place, alias] of wave.map(asAlias).entries()) {
      release(alias, ["Defects", killsOf(index)], LambdaDeploymentConfig.CANARY_10PERCENT_10MINUTES);
      const before = waves[index - 1]?.[place];
      if (before) resourceOf(alias).addResourceDependency(resourceOf(asAlias(before)));
    }
  const all = ["Defects", ...waves.map((_, index) => killsOf(index))];
  release(asAlias(last), all, LambdaDeploymentConfig.CANARY_10PERCENT_15MINUTES);
  const end = resourceOf(asAlias(last));
  for (const moved of stack.node.findAll())
    if ((moved instanceof CfnAlias && moved !== end) || moved instanceof CfnStateMachine)
      end.addResourceDependency(moved);
};

/**
 * The actions of CodeDeploy's managed policy that functions without hooks need, for these functions only.
 * https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AWSCodeDeployRoleForLambdaLimited.html
 */
const rolloutRole = (stack: Stack, aliases: readonly Alias[]) => {
  const actions = ["lambda:GetAlias", "lambda:GetProvisionedConcurrencyConfig", "lambda:UpdateAlias"];
  // The aliases refer to this role, which therefore cannot refer to them.
  const resources = aliases.flatMap(({ lambda: { functionArn }, aliasName }) => [
    functionArn,
    `${functionArn}:${aliasName}`,
  ]);
  const statements = [new PolicyStatement({ actions, resources }), allow(["cloudwatch:DescribeAlarms"], "*")];
  const role = new Role(stack, "RolloutRole", {
    assumedBy: ownService("codedeploy"),
    description: "Patchbay: CodeDeploy shifts traffic between versions of functions",
    inlinePolicies: { rollout: new PolicyDocument({ statements }) },
  });
  acknowledge(role, {
    "AwsSolutions-IAM5[Resource::*]": "DescribeAlarms lists alarms; its answers are not secret.",
  });
  // Otherwise CDK would attach the managed policy, which allows this for every function.
  return role.withoutPolicyUpdates();
};

const asAlias = (handler: IFunction): Alias => {
  if (!(handler instanceof Alias)) throw new Error("A function is released by its alias.");
  return handler;
};

const resourceOf = ({ node: { defaultChild } }: Alias): CfnAlias => {
  if (!(defaultChild instanceof CfnAlias)) throw new Error("CDK no longer creates a CfnAlias for an Alias.");
  return defaultChild;
};
