import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { RestApi } from "aws-cdk-lib/aws-apigateway";
import type { Construct } from "constructs";
import { api } from "./api.ts";
import { checkout } from "./checkout.ts";
import { toMetadata } from "./deployed-settings.ts";
import { operations } from "./operations.ts";
import { policies } from "./policies.ts";
import { readSettings, type Settings } from "./settings.ts";
import { storage } from "./storage.ts";
import { sweep } from "./sweep.ts";

/** The whole system on one screen. `bundles` is the directory of the bundled functions. */
export const patchbay = (app: Construct, bundles: string, props: StackProps = {}): Stack => {
  const settings = readSettings(app.node);
  const stack = new Stack(app, settings.stackName, {
    description: "Patchbay: attachments of number orders, and messaging switches",
    terminationProtection: settings.retainData,
    ...props,
  });

  stack.templateOptions.metadata = toMetadata(settings.record);
  const kept = storage(stack, settings);
  const surroundings = { settings, storage: kept, bundles };
  const rest = api(stack, surroundings);
  const { machine, secret } = checkout(stack, surroundings);
  const watched = { rest, table: kept.table, machine, sweep: sweep(stack, surroundings) };
  const alarms = operations(stack, surroundings, watched);
  const { ordering, operator } = policies(stack, surroundings, machine);

  const outputs = {
    BaseUrl: baseUrl(rest, settings),
    TableName: kept.table.tableName,
    BucketName: kept.bucket.bucketName,
    StateMachineArn: machine.stateMachineArn,
    CarrierTokenArn: secret.secretArn,
    AlarmTopicArn: alarms.topicArn,
    OrderingPolicyArn: ordering.managedPolicyArn,
    OperatorPolicyArn: operator.managedPolicyArn,
  };
  for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
  return stack;
};

/** The API's base address, without a slash at its end. An emulator has a path for each API instead of a host name. */
const baseUrl = (rest: RestApi, { emulator }: Settings) =>
  emulator
    ? `${emulator.replace(/\/$/, "")}/restapis/${rest.restApiId}/${rest.deploymentStage.stageName}/_user_request_`
    : rest.url.replace(/\/$/, "");
