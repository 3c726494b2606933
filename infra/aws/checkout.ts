import { readFileSync } from "node:fs";
import { Duration, Fn, Stack } from "aws-cdk-lib";
import { Rule } from "aws-cdk-lib/aws-events";
import { LambdaFunction as LambdaTarget } from "aws-cdk-lib/aws-events-targets";
import { PolicyDocument, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { DefinitionBody, LogLevel, StateMachine, StateMachineType } from "aws-cdk-lib/aws-stepfunctions";
import type { Construct } from "constructs";
import { type Step, steps } from "../../shared/checkout/steps.ts";
import { accept } from "./accept.ts";
import { allow, functionOf, type Surroundings } from "./function.ts";
import { settleName } from "./inventory.ts";

const workflow = new URL("../../functions/checkout/workflow.asl.json", import.meta.url);

/** The checkout: the workflow that the local run reads too, and a function for every row of the table of steps. */
export const checkout = (scope: Construct, surroundings: Surroundings) => {
  const secret = carrierSecret(scope, surroundings);
  const functions = Object.fromEntries(
    steps.map((step) => [placeholder(step), stepFunction(scope, surroundings, step, secret)]),
  );
  const machine = stateMachine(scope, surroundings, functions);
  settleFailed(scope, surroundings, machine);
  return { machine, secret };
};

/** Created with a random value. An operator puts the carrier's token in: see infra/README.md. */
const carrierSecret = (scope: Construct, { settings, storage }: Surroundings) => {
  const secret = new Secret(scope, "CarrierToken", {
    description: "Patchbay: the bearer token that the carrier asks for",
    encryptionKey: storage.key,
    // Only characters that a header can contain.
    generateSecretString: { passwordLength: 40, excludePunctuation: true },
    removalPolicy: settings.removalPolicy,
  });
  accept(secret, {
    "AwsSolutions-SMG4":
      "The carrier issues the token and has no API to rotate it. An operator puts the new one in, and it is in use within five minutes.",
  });
  return secret;
};

const stepFunction = (scope: Construct, surroundings: Surroundings, step: Step, secret: Secret) => {
  const { name, access, carrier, timeoutSeconds, memoryMb } = step;
  const { settings, storage } = surroundings;
  const region = secret.stack.region;
  return functionOf(scope, surroundings, {
    name,
    access,
    memoryMb,
    timeout: Duration.seconds(timeoutSeconds),
    ...(carrier && {
      environment: { CARRIER_URL: settings.carrierUrl, CARRIER_SECRET_ARN: secret.secretArn },
      statements: [
        allow(["secretsmanager:GetSecretValue"], secret.secretArn),
        allow(["kms:Decrypt"], storage.key.keyArn, {
          StringEquals: { "kms:ViaService": `secretsmanager.${region}.amazonaws.com` },
        }),
      ],
    }),
  });
};

type Functions = Readonly<Record<string, LambdaFunction>>;

/** `checkout/load` is called `${load}` in the workflow. */
const placeholder = ({ name }: Step) => name.slice(name.lastIndexOf("/") + 1);

const stateMachine = (scope: Construct, { settings }: Surroundings, functions: Functions) => {
  const arns = Object.entries(functions).map(([name, { functionArn }]) => [name, functionArn] as const);
  const role = new Role(scope, "CheckoutRole", {
    assumedBy: new ServicePrincipal("states.amazonaws.com"),
    description: "Patchbay: the checkout calls its steps",
    inlinePolicies: {
      steps: new PolicyDocument({
        statements: arns.map(([, arn]) => allow(["lambda:InvokeFunction"], arn)),
      }),
    },
  });
  accept(role, {
    "AwsSolutions-IAM5[Resource::*]":
      "X-Ray's actions and those that set up the delivery of logs know no resources to name.",
  });
  return new StateMachine(scope, "Checkout", {
    comment: "Forwards an order's attachments to the carrier, then checks its cart out",
    stateMachineType: StateMachineType.STANDARD,
    definitionBody: DefinitionBody.fromString(JSON.stringify(JSON.parse(readFileSync(workflow, "utf8")))),
    definitionSubstitutions: Object.fromEntries(arns),
    role,
    tracingEnabled: true,
    logs: {
      destination: new LogGroup(scope, "CheckoutLogs", {
        logGroupName: logGroupName(Stack.of(scope)),
        retention: settings.logRetention,
        removalPolicy: settings.removalPolicy,
      }),
      level: LogLevel.ALL,
      // The names of the states and errors say what happened; the ids are in the steps' own lines.
      includeExecutionData: false,
    },
  });
};

/**
 * Below this prefix, log groups of services do not fill up the account's one resource policy for log deliveries. The
 * stack's own id makes the name unique: production keeps the group when its stack is deleted and deployed again.
 * https://docs.aws.amazon.com/step-functions/latest/dg/bp-cwl.html
 */
const logGroupName = ({ stackName, stackId }: Stack) =>
  `/aws/vendedlogs/states/${stackName}-${Fn.select(2, Fn.split("/", stackId))}`;

/**
 * An execution that ends without its own failure path (which failed too, was stopped or ran out of time) leaves its order
 * locked. Step Functions reports every end to EventBridge; the function settles what is left.
 */
const settleFailed = (scope: Construct, surroundings: Surroundings, machine: StateMachine) => {
  const handler = functionOf(scope, surroundings, {
    name: settleName,
    access: { table: ["GetItem", "UpdateItem"], files: [] },
    timeout: Duration.seconds(30),
  });
  new Rule(scope, "FailedCheckout", {
    description: "Settles the lock of a checkout that ended without doing so",
    eventPattern: {
      source: ["aws.states"],
      detailType: ["Step Functions Execution Status Change"],
      detail: { stateMachineArn: [machine.stateMachineArn], status: ["FAILED", "TIMED_OUT", "ABORTED"] },
    },
    targets: [new LambdaTarget(handler)],
  });
};
