import { CfnOutput, Stack } from "aws-cdk-lib";
import type { RestApi } from "aws-cdk-lib/aws-apigateway";
import type { Construct } from "constructs";
import { createApi } from "./api.ts";
import { createCheckout } from "./checkout.ts";
import { createEvents } from "./events.ts";
import { createOperations } from "./operations.ts";
import { createPolicies } from "./policies.ts";
import type { Settings } from "./settings.ts";
import { createStorage } from "./storage.ts";
import { createSweep } from "./sweep.ts";

/** W3005: CDK makes every function depend on its role, which the function refers to anyway. */
const lintConfig = { config: { ignore_checks: ["W3005"] } };

/** Creates the whole stack. `bundles` is the directory with the bundled functions. */
export const patchbay = (app: Construct, settings: Settings, bundles: string): Stack => {
  const stack = new Stack(app, settings.stackName, {
    description: "Patchbay: attachments of number orders, and messaging switches",
    terminationProtection: settings.retainData,
  });

  stack.templateOptions.metadata = { "cfn-lint": lintConfig };
  const storage = createStorage(stack, settings);
  const deployment = { settings, storage, bundles };
  const rest = createApi(stack, deployment);
  const { machine, secret, failure } = createCheckout(stack, deployment);
  const sweep = createSweep(stack, deployment);
  const { bus, publisher, unpublished, policy } = createEvents(stack, deployment);
  const alarms = createOperations(stack, deployment, {
    rest,
    table: storage.table,
    machine,
    failure,
    sweep,
    publisher,
    unpublished,
  });
  const { ordering, operator } = createPolicies(stack, deployment, machine);

  const outputs = {
    BaseUrl: baseUrl(rest, settings),
    TableName: storage.table.tableName,
    BucketName: storage.bucket.bucketName,
    StateMachineArn: machine.stateMachineArn,
    CarrierTokenArn: secret.secretArn,
    EventBusName: bus.eventBusName,
    EventBusArn: bus.eventBusArn,
    AlarmTopicArn: alarms.topicArn,
    OrderingPolicyArn: ordering.managedPolicyArn,
    OperatorPolicyArn: operator.managedPolicyArn,
    EventPolicyArn: policy.managedPolicyArn,
  };
  for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
  return stack;
};

/** The API's base address, without a trailing slash. On an emulator, an API has a path instead of a host name. */
const baseUrl = (rest: RestApi, { emulator }: Settings) =>
  emulator
    ? `${emulator.replace(/\/$/, "")}/restapis/${rest.restApiId}/${rest.deploymentStage.stageName}/_user_request_`
    : rest.url.replace(/\/$/, "");
