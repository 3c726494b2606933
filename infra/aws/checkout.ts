import { Duration, Fn, Stack } from "aws-cdk-lib";
import { Rule } from "aws-cdk-lib/aws-events";
import { LambdaFunction as LambdaTarget } from "aws-cdk-lib/aws-events-targets";
import { PolicyDocument, Role } from "aws-cdk-lib/aws-iam";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { DefinitionBody, LogLevel, StateMachine, StateMachineType } from "aws-cdk-lib/aws-stepfunctions";
import type { Construct } from "constructs";
import { placeholderOf, workflow } from "../../functions/checkout/workflow.ts";
import { failStep, type Step, steps } from "../../shared/checkout/steps.ts";
import { acknowledge, logicalId } from "./acknowledge.ts";
import { otherFunctions } from "./bundle.ts";
import { createFunction, type Deployment } from "./function.ts";
import { allow, allowKey, arnOf, ownService } from "./grants.ts";

/** Creates the checkout, which is the workflow and a function for each step. The local stack runs the same workflow. */
export const createCheckout = (scope: Construct, deployment: Deployment) => {
  const secret = carrierSecret(scope, deployment);
  const failure = stepFunction(scope, deployment, failStep, secret);
  const functions = steps.map((step) => {
    const handler = step === failStep ? failure : stepFunction(scope, deployment, step, secret);
    return { step, handler };
  });
  const arns = functions.map(({ step, handler }) => [placeholderOf(step), handler.functionArn] as const);
  const machine = stateMachine(scope, deployment, arns);
  const release = releaseFunction(scope, deployment, machine);
  const names = [`<${logicalId(machine)}.Name>`, machineName(deployment.settings)];
  const wildcards = names.map((name) => [
    `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:${name}:*]`,
    "The name of an execution contains the order's id and the number of the run. The state machine is the narrowest pattern that matches all of them.",
  ]);
  acknowledge(Stack.of(scope), Object.fromEntries(wildcards));
  const carrierSteps = functions.flatMap(({ step, handler }) => (step.carrier ? [handler] : []));
  return { machine, secret, failure, release, carrierSteps };
};

/** Creates the secret with a random value. An operator replaces it with the carrier's token (see infra/README.md). */
const carrierSecret = (scope: Construct, { settings, storage }: Deployment) => {
  const secret = new Secret(scope, "CarrierToken", {
    description: "Patchbay: the bearer token for the carrier",
    encryptionKey: storage.key,
    // It has only characters that a header can contain.
    generateSecretString: { passwordLength: 40, excludePunctuation: true },
    removalPolicy: settings.removalPolicy,
  });
  acknowledge(secret, {
    "AwsSolutions-SMG4":
      "The carrier issues the token and has no API to rotate it. When an operator stores a new one, the functions use it within five minutes.",
  });
  return secret;
};

const stepFunction = (scope: Construct, deployment: Deployment, step: Step, secret: Secret) => {
  const { name, file, grants, carrier, executions, timeoutSeconds, memoryMb } = step;
  const { settings, storage } = deployment;
  // With `"tag"`, no step reads tags, because files from before the scan have none.
  const files = grants.files.filter((action) => settings.malwareScan === true || action !== "GetObjectTagging");
  return createFunction(scope, deployment, {
    name,
    file,
    grants: { ...grants, files },
    memoryMb,
    timeout: Duration.seconds(timeoutSeconds),
    ...(executions && {
      environment: {
        CARRIER_NAME: settings.carrierName,
        STATE_MACHINE_ARN: arnOf("states", `stateMachine:${machineName(settings)}`),
      },
      statements: [allow(["states:DescribeExecution"], arnOf("states", `execution:${machineName(settings)}:*`))],
    }),
    ...(carrier && {
      concurrency: settings.carrierConcurrency,
      environment: {
        ...(settings.carrierUrl && { CARRIER_URL: settings.carrierUrl }),
        ...(settings.carrierFunction && { CARRIER_FUNCTION: settings.carrierFunction }),
        CARRIER_NAME: settings.carrierName,
        CARRIER_SECRET_ARN: secret.secretArn,
        ...(files.includes("GetObjectTagging") && { MALWARE_SCAN: "GuardDuty" }),
      },
      statements: [
        ...(settings.carrierFunction ? [allow(["lambda:InvokeFunction"], functionArn(settings.carrierFunction))] : []),
        allow(["secretsmanager:GetSecretValue"], secret.secretArn),
        allowKey(["kms:Decrypt"], storage.key, "secretsmanager"),
      ],
    }),
  });
};

/** A fixed name lets the first step look up executions of the machine that calls it. */
const machineName = ({ stackName }: Deployment["settings"]) => `${stackName}-checkout`;

const functionArn = (reference: string) =>
  reference.startsWith("arn:") ? reference : arnOf("lambda", `function:${reference}`);

/**
 * The workflow invokes aliases, so a running execution continues with the steps of a version that is deployed meanwhile. Any
 * version must therefore read the states that any other wrote (see test/shared/checkout/states-of-1.0.json).
 */
const stateMachine = (scope: Construct, { settings }: Deployment, arns: readonly (readonly [string, string])[]) => {
  const role = new Role(scope, "CheckoutRole", {
    assumedBy: ownService("states"),
    description: "Patchbay: the checkout calls its steps",
    inlinePolicies: {
      steps: new PolicyDocument({ statements: arns.map(([, arn]) => allow(["lambda:InvokeFunction"], arn)) }),
    },
  });
  acknowledge(role, {
    "AwsSolutions-IAM5[Resource::*]":
      "X-Ray's actions and the actions that configure log delivery do not support resource-level permissions.",
  });
  const machine = new StateMachine(scope, "Checkout", {
    stateMachineName: machineName(settings),
    comment: "Forwards an order's attachments to the carrier, then checks out the carrier's cart",
    stateMachineType: StateMachineType.STANDARD,
    definitionBody: DefinitionBody.fromString(JSON.stringify(workflow)),
    definitionSubstitutions: Object.fromEntries(arns),
    role,
    tracingEnabled: settings.tracing,
    logs: {
      destination: new LogGroup(scope, "CheckoutLogs", {
        logGroupName: logGroupName(Stack.of(scope)),
        ...settings.logs,
      }),
      level: LogLevel.ALL,
      // The names of states and errors are enough here, because the steps log the ids.
      includeExecutionData: false,
    },
  });
  if (!settings.tracing)
    acknowledge(machine, { "AwsSolutions-SF2": "The stage turns X-Ray off to save its cost. Every step logs a line." });
  return machine;
};

/**
 * Log groups with this prefix do not count towards the size limit of the account's resource policy for log delivery. The
 * stack's id makes the name unique, because production retains the group when its stack is deleted and deployed again.
 * https://docs.aws.amazon.com/step-functions/latest/dg/bp-cwl.html
 */
const logGroupName = ({ stackName, stackId }: Stack) =>
  `/aws/vendedlogs/states/${stackName}-${Fn.select(2, Fn.split("/", stackId))}`;

export const executionsOf = ({ stateMachineName }: StateMachine) => arnOf("states", `execution:${stateMachineName}:*`);

/**
 * Releases the lock of an execution that was stopped, timed out, or whose failure path failed. EventBridge delivers the events of ends on
 * a best-effort basis. If one is lost, the next run looks up the execution.
 * https://docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html
 */
const releaseFunction = (scope: Construct, deployment: Deployment, machine: StateMachine) => {
  const deadLetterQueue = deployment.deadLetters;
  const handler = createFunction(scope, deployment, {
    ...otherFunctions.releaseLock,
    grants: { table: ["GetItem", "PutItem", "UpdateItem"], files: [] },
    timeout: Duration.seconds(30),
    runsInMaintenance: true,
    deadLetterQueue,
    // The event omits the input of the execution if it is large.
    statements: [allow(["states:DescribeExecution"], executionsOf(machine))],
  });
  new Rule(scope, "FailedCheckout", {
    description: "Releases the lock of a checkout that ended without releasing it",
    eventPattern: {
      source: ["aws.states"],
      detailType: ["Step Functions Execution Status Change"],
      detail: { stateMachineArn: [machine.stateMachineArn], status: ["FAILED", "TIMED_OUT", "ABORTED"] },
    },
    targets: [new LambdaTarget(handler, { deadLetterQueue })],
  });
  return handler;
};
