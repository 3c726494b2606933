import { createHash } from "node:crypto";
import { Annotations, CfnOutput, Duration, FileSystem, Stack, Tags } from "aws-cdk-lib";
import type { RestApi } from "aws-cdk-lib/aws-apigateway";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction as LambdaTarget } from "aws-cdk-lib/aws-events-targets";
import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { workflow } from "../../functions/checkout/workflow.ts";
import project from "../../package.json" with { type: "json" };
import type { EntryPoint } from "../../shared/route.ts";
import { acknowledge } from "./acknowledge.ts";
import { createApi } from "./api.ts";
import { otherFunctions } from "./bundle.ts";
import { createCheckout } from "./checkout.ts";
import { createEvents } from "./event-bus.ts";
import { createFunction, type Deployment } from "./function.ts";
import { allowListing, orderingGrants, tenancyGrants } from "./grants.ts";
import { createMalwareScan } from "./malware-scan.ts";
import { createOperations } from "./operations.ts";
import { createPolicies } from "./policies.ts";
import { createRollout, wavesOf } from "./rollout.ts";
import type { Settings } from "./settings.ts";
import { createStorage } from "./storage.ts";

/** Creates the whole stack. `bundles` is the directory with the bundled functions. */
export const patchbay = (app: Construct, settings: Settings, bundles: string): Stack => {
  const stack = new Stack(app, settings.stackName, {
    description: "Patchbay: attachments of number orders, and messaging switches",
    terminationProtection: settings.retainData,
    env: {
      ...(settings.account && { account: settings.account }),
      ...(settings.region && { region: settings.region }),
    },
  });

  // W3005 is about dependencies that CDK adds. It makes every function depend on its role, which the function refers to anyway.
  stack.templateOptions.metadata = { "cfn-lint": { config: { ignore_checks: ["W3005"] } } };
  const storage = createStorage(stack, settings);
  const deadLetters = deadLetterQueue(stack, settings);
  const logGroup = new LogGroup(stack, "FunctionLogs", settings.logs);
  const deployment = { settings, storage, bundles, deadLetters, logGroup };
  const { rest, endpoints } = createApi(stack, deployment);
  const waysIn = createWaysIn(stack, deployment);
  const { machine, secret, release, carrierSteps } = createCheckout(stack, deployment);
  const { sweep, sweepRule } = createSweep(stack, deployment);
  const { bus, publisher, reader, archiveArn, policy } = createEvents(stack, deployment);
  const canaries = settings.rollout === "canary" ? wavesOf([...endpoints, ...Object.values(waysIn)]) : [];
  const monitored = { rest, machine, release, sweep, publisher, carrierSteps, canaries };
  const operations = isMonitored(settings) ? createOperations(stack, deployment, monitored) : undefined;
  const topics = operations ? [operations.pages, operations.tickets] : [];
  const policyArns = createPolicies(stack, deployment, { machine, secret, topics, reader, sweepRule, ...waysIn });
  if (settings.malwareScan) createMalwareScan(stack, deployment, operations?.tickets);
  if (operations && canaries.length > 0) createRollout(stack, { waves: canaries, last: sweep }, operations.alarmNamed);
  const tags = { Application: "Patchbay", Stage: settings.stageName, ...settings.tags };
  for (const [name, value] of Object.entries(tags)) Tags.of(stack).add(name, value);
  if (settings.retainData) warn(stack, settings);

  const outputs = {
    // The CLI compares it with its own.
    Version: project.version,
    BaseUrl: baseUrl(rest, settings),
    TableName: storage.table.tableName,
    BucketName: storage.bucket.bucketName,
    StateMachineArn: machine.stateMachineArn,
    ApplyFunctionName: waysIn.apply.functionName,
    OrderingFunctionName: waysIn.applyOrders.functionName,
    // `doctor` and `carrier check` call it.
    ...(settings.carrierUrl && { CarrierUrl: settings.carrierUrl }),
    ...(settings.carrierFunction && { CarrierFunctionName: settings.carrierFunction }),
    CarrierTokenArn: secret.secretArn,
    // Whoever stores the token needs the key, too.
    CarrierTokenKeyArn: storage.key.keyArn,
    EventBusName: bus.eventBusName,
    EventBusArn: bus.eventBusArn,
    ...(archiveArn && { EventArchiveArn: archiveArn }),
    EventReaderId: reader.eventSourceMappingId,
    ...(operations && { PageTopicArn: operations.pages.topicArn, TicketTopicArn: operations.tickets.topicArn }),
    ...policyArns,
    EventPolicyArn: policy.managedPolicyArn,
    ...(rest.domainName && { DomainTarget: rest.domainName.domainNameAliasDomainName }),
  };
  for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
  return stack;
};

/** A sandbox has alarms and a dashboard only if there is an address to notify. Canaries need the alarms. */
const isMonitored = ({ retainData, pageEmail, ticketEmail, rollout }: Settings) =>
  retainData || (pageEmail ?? ticketEmail) !== null || rollout === "canary";

/** Creates two functions for other systems. One applies every section of a file, the other only orders and requests. */
const createWaysIn = (stack: Stack, deployment: Deployment) => {
  const { settings, storage } = deployment;
  const common = { timeout: Duration.minutes(5), isOperator: true, grants: { table: [], files: [] } };
  const create = (entryPoint: EntryPoint, statements: PolicyStatement[]) =>
    createFunction(stack, deployment, { ...common, ...entryPoint, statements });
  return {
    apply: create(otherFunctions.apply, tenancyGrants(storage)),
    applyOrders: create(otherFunctions.applyOrders, orderingGrants(storage, settings)),
  };
};

/** Creates the daily sweep, which removes the files without metadata that a crash can leave behind, and counts overdue checkouts. */
const createSweep = (stack: Stack, deployment: Deployment) => {
  const { deadLetters: deadLetterQueue } = deployment;
  const sweep = createFunction(stack, deployment, {
    ...otherFunctions.sweep,
    grants: { table: ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"], files: ["DeleteObject"] },
    timeout: Duration.minutes(15),
    deadLetterQueue,
    ...(deployment.settings.rollout === "canary" && { environment: { RELEASE: releaseOf(deployment) } }),
    statements: [allowListing(deployment.storage)],
  });
  const sweepRule = new Rule(stack, "SweepDaily", {
    description: "Removes files without metadata",
    enabled: deployment.settings.throttleRate > 0,
    schedule: Schedule.cron({ hour: "3", minute: "17" }),
    targets: [new LambdaTarget(sweep, { deadLetterQueue })],
  });
  return { sweep, sweepRule };
};

/** Returns a hash that changes with the bundles, the workflow, the settings or infra/aws (see infra/aws/rollout.ts). */
const releaseOf = ({ bundles, settings }: Deployment): string => {
  const folders = [bundles, import.meta.dirname].map((folder) => FileSystem.fingerprint(folder));
  return createHash("sha256")
    .update(JSON.stringify([folders, workflow, settings]))
    .digest("hex");
};

const deadLetterQueue = (stack: Stack, { removalPolicy }: Settings): Queue => {
  // With the stack's key, each service that sends to the queue would need a grant in the key's policy.
  const encryption = QueueEncryption.SQS_MANAGED;
  const kept = { retentionPeriod: Duration.days(14), removalPolicy };
  const queue = new Queue(stack, "DeadLetters", { encryption, enforceSSL: true, ...kept });
  acknowledge(queue, { "AwsSolutions-SQS3": "This is a queue of dead letters." });
  return queue;
};

/** The API's base address, without a trailing slash. On an emulator, an API has a path instead of a host name. */
const baseUrl = (rest: RestApi, { emulator, domainName }: Settings) =>
  emulator
    ? `${emulator.replace(/\/$/, "")}/restapis/${rest.restApiId}/${rest.deploymentStage.stageName}/_user_request_`
    : (domainName ? `https://${domainName}` : rest.url).replace(/\/$/, "");

/** Warns at synth if a stage that retains its data lacks a setting that it should have. */
const warn = (stack: Stack, settings: Settings) => {
  const { pageEmail, ticketEmail, malwareScan, carrierConcurrency, webAclArn } = settings;
  const consequences = {
    pageEmail: !pageEmail && "no one is notified of what cannot wait",
    ticketEmail: !ticketEmail && "no one is notified of what can wait",
    malwareScan: malwareScan !== true && "the carrier gets files that nobody has scanned",
    carrierConcurrency: !carrierConcurrency && "a carrier that hangs takes the concurrency of the API",
    requestsPerAddress: !(webAclArn ?? settings.requestsPerAddress) && "a caller with made-up keys is not limited",
    requestsInTotal: !(webAclArn ?? settings.requestsInTotal) && "all callers together are not limited",
  };
  for (const [name, consequence] of Object.entries(consequences))
    if (consequence)
      Annotations.of(stack).addWarningV2(
        `patchbay:${name}`,
        `${name} is not ${name === "malwareScan" ? "true" : "set"}: ${consequence}.`,
      );
};
