import { APIGatewayClient, GetAccountCommand } from "@aws-sdk/client-api-gateway";
import type { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import type { Context } from "./cdk.ts";
import { deployedSettings, droppedSettings, explainDropped, type SettingsRecord } from "./deployed-settings.ts";
import { stackNameOf } from "./stages.ts";

/** The commands of CDK: `deploy` deploys the latest synthesis. */
export type Cdk = {
  readonly synthesize: (context: Context) => { readonly record: SettingsRecord };
  readonly deploy: () => void;
};

/** API Gateway writes the logs of a region with one role. If the region has none yet, this stack creates it. */
const logsRole = async (context: Context, deployedRole: unknown): Promise<Context> => {
  if (context.apiLogsRole !== undefined) return {};
  if (deployedRole === "own") return { apiLogsRole: "own" };
  const { cloudwatchRoleArn } = await new APIGatewayClient({ maxAttempts: 2 }).send(new GetAccountCommand());
  return cloudwatchRoleArn ? {} : { apiLogsRole: "own" };
};

/** Deploys a stack. Throws, before anything is deployed, if a setting of the deployed stack would be lost. */
export const deployStack = async (
  client: CloudFormationClient,
  stage: string,
  context: Context,
  cdk: Cdk,
): Promise<void> => {
  const deployed = await deployedSettings(client, stackNameOf(stage, context.name));
  const complete = { ...context, ...(await logsRole(context, deployed?.values.apiLogsRole)) };
  const { record } = cdk.synthesize(complete);
  const dropped = deployed ? droppedSettings(deployed, record) : [];
  if (deployed && dropped.length > 0) throw new Error(explainDropped(stage, deployed, dropped));
  if (!deployed && record.retainData) {
    // CloudFormation cannot roll back a protected table, so a second deployment protects it.
    cdk.synthesize({ ...complete, protectTable: "false" });
    cdk.deploy();
    cdk.synthesize(complete);
  }
  cdk.deploy();
};
