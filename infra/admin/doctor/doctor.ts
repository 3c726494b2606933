import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { S3 } from "@aws-sdk/client-s3";
import { SFN } from "@aws-sdk/client-sfn";
import type { Command } from "commander";
import { doctorFile, filePrefix } from "../../../shared/attachments/file-keys.ts";
import { env } from "../../../shared/env.ts";
import { collections, keys } from "../../../shared/table/keys.ts";
import { query } from "../../../shared/table/read.ts";
import { adviceOn, CommandError, messageOf } from "../cli/command-errors.ts";
import { type Diagnosis, hasFault, printDiagnoses, type Verdict } from "../cli/diagnosis.ts";
import { accountsBelow } from "../cli/lookups.ts";
import { type Format, printJson } from "../cli/output.ts";
import { type DeployedStack, type TargetOptions, targetStack, useTarget } from "../cli/target.ts";
import { checkCarrierName } from "./carrier-name.ts";
import { askCarrier } from "./carrier-question.ts";
import { checksOfStack, clientConfig, type Notice } from "./first-day.ts";

/** Errors about features that emulators lack. Emulators do not expire items, and some do not even store the setting. */
const lackOfEmulators = /not enabled on expires_at|NotImplemented|UnknownOperation|not (yet )?(implemented|supported)/i;

const isOnEmulator = () =>
  Object.entries(process.env).some(([name, value]) => name.startsWith("AWS_ENDPOINT_URL") && value);

const generalRemedy = "Deploy the stack (`./patchbay deploy`), or correct --stack or the environment variables.";

type Find = () => Promise<string | Notice | Verdict> | string;

const runCheck = async (check: string, find: Find, remedy = generalRemedy): Promise<Diagnosis> => {
  try {
    const found = await find();
    if (typeof found === "string") return { check, status: "ok", found, remedy: null };
    if ("status" in found) return { check, ...found };
    return { check, status: "notice", found: found.notice, remedy: found.remedy };
  } catch (error) {
    const name = error instanceof Error && !["Error", "CommandError"].includes(error.name) ? `${error.name}: ` : "";
    const found = name + messageOf(error);
    if (isOnEmulator() && lackOfEmulators.test(found))
      return { check, status: "skipped", found: `emulators need not support it: ${found}`, remedy: null };
    // A CommandError's message contains the remedy.
    const own = error instanceof CommandError ? null : remedy;
    return { check, status: "FAULT", found, remedy: adviceOn(error) ?? own };
  }
};

const checkCredentials = async () => {
  const { accessKeyId } = await new DynamoDB(clientConfig).config.credentials();
  return `access key ${accessKeyId.slice(0, 4)}…`;
};

const describeTable = async () =>
  (await new DynamoDB(clientConfig).describeTable({ TableName: env.tableName() })).Table ?? {};

const checkTable = async () => {
  const { KeySchema = [], TableStatus = "status unknown" } = await describeTable();
  const schema = KeySchema.map(({ AttributeName, KeyType }) => `${AttributeName} ${KeyType}`).join(", ");
  if (schema !== "pk HASH, sk RANGE") throw new Error(`its key schema is ${schema}`);
  return `${env.tableName()}, ${TableStatus.toLowerCase()}`;
};

const checkTtl = async () => {
  const TableName = env.tableName();
  const { TimeToLiveDescription: ttl } = await new DynamoDB(clientConfig).describeTimeToLive({ TableName });
  if (ttl?.AttributeName !== "expires_at") throw new Error("it is not enabled on expires_at");
  return `on expires_at, ${ttl.TimeToLiveStatus?.toLowerCase()}`;
};

const checkStream = async () => {
  const { StreamSpecification, LatestStreamLabel = "enabled" } = await describeTable();
  if (StreamSpecification?.StreamViewType !== "NEW_IMAGE") throw new Error("it has none with new images");
  return `${LatestStreamLabel}, new images`;
};

/** A key is usually found below the first account. */
const accountsToSearch = 100;

/** The API responds to a request without a key whatever its table, even if that is a new one in place of the right one. */
const checkKeys = async (): Promise<string | Notice> => {
  let accounts = 0;
  for await (const { id } of accountsBelow(null)) {
    if ((await query(collections.accountKeys(id), { limit: 1 })).length > 0) return "there are accounts with keys";
    accounts += 1;
    if (accounts === accountsToSearch) break;
  }
  const remedy =
    "If customers have keys, this is the wrong table: see `restoredTable` of the stage. Otherwise, create the first customer.";
  if (accounts === 0) return { notice: "the table is empty: every request returns 401", remedy };
  const searched = accounts === accountsToSearch ? `the first ${accounts} accounts have` : "no account has";
  const notice = accounts === accountsToSearch ? `${searched} no key` : `${searched} a key: every request returns 401`;
  return { notice, remedy };
};

const checkBucket = async () => {
  const s3 = new S3({ ...clientConfig, forcePathStyle: env.hasS3Endpoint() });
  await s3.listObjectsV2({ Bucket: env.bucketName(), Prefix: filePrefix, MaxKeys: 1 });
  return env.bucketName();
};

/** Writes an item and deletes it, because a readable table may still refuse every write. */
const checkTableWrites = async () => {
  const [dynamodb, TableName] = [new DynamoDB(clientConfig), env.tableName()];
  const { pk, sk } = keys.doctor();
  const Key = { pk: { S: pk }, sk: { S: sk } };
  await dynamodb.putItem({ TableName, Item: Key });
  await dynamodb.deleteItem({ TableName, Key });
  return "an item was written and deleted";
};

const checkBucketWrites = async () => {
  const s3 = new S3({ ...clientConfig, forcePathStyle: env.hasS3Endpoint() });
  const file = { Bucket: env.bucketName(), Key: doctorFile };
  await s3.putObject({ ...file, Body: Buffer.alloc(65_536), ContentType: "application/octet-stream" });
  await s3.deleteObject(file);
  return "a file was stored and deleted";
};

const checkWorkflow = async () => {
  const stateMachineArn = env.stateMachineArn();
  const sfn = new SFN(clientConfig);
  const { executions = [] } = await sfn.listExecutions({ stateMachineArn, maxResults: 100 });
  for (const { name, status, executionArn, startDate, stopDate } of executions) {
    const { error } = status === "FAILED" ? await sfn.describeExecution({ executionArn }) : {};
    // A second start while a run is in progress is not a failed checkout.
    if (error === "AlreadyRunning") continue;
    const when = stopDate ? `ended at ${stopDate.toISOString()}` : `started at ${startDate?.toISOString()}`;
    return `${stateMachineArn.split(":").at(-1)}, last run ${name} ${status}, ${when}`;
  }
  return `${stateMachineArn.split(":").at(-1)}, no runs yet`;
};

type Check = readonly [check: string, find: Find, remedy?: string];

const checksOfTarget: readonly Check[] = [
  ["table", checkTable],
  ["table's TTL", checkTtl, "Deploy the stack again: without TTL, used Idempotency-Keys are kept forever."],
  [
    "table's stream",
    checkStream,
    "No event is published. `./patchbay restore` turns on the stream of a restored table: see infra/runbook.md.",
  ],
  ["table's writes", checkTableWrites, "Nothing can be changed until this works."],
  ["API keys", checkKeys],
  ["bucket", checkBucket],
  ["bucket's writes", checkBucketWrites, "No file can be uploaded until this works."],
  ["workflow", checkWorkflow],
];

const checksOf = (stack: DeployedStack | undefined): readonly Check[] => [
  ...checksOfTarget,
  ["carrier", () => askCarrier({ isHere: stack === undefined })],
  ["carrier's name", checkCarrierName],
  ...(stack ? checksOfStack(stack) : []),
];

/** The checks that write something, or read many items. */
const slowChecks = ["table's writes", "API keys", "bucket's writes", "carrier's name"];
const quickMs = 4_000;

/** Runs the checks that write nothing, all at once. A check without a result within some seconds is a fault. */
export const runQuickChecks = (): Promise<Diagnosis[]> => {
  const inTime = (find: Find) => async () => {
    const late = sleep(quickMs, undefined, { ref: false }).then(() => {
      throw new CommandError(`no result within ${quickMs / 1000} s: \`doctor\` waits longer`);
    });
    return Promise.race([find(), late]);
  };
  const checks = checksOf(targetStack()).filter(([check]) => !slowChecks.includes(check));
  return Promise.all(checks.map(([check, find, remedy]) => runCheck(check, inTime(find), remedy)));
};

const runChecks = async (options: TargetOptions): Promise<Diagnosis[]> => {
  const node = `Node ${process.versions.node} (the functions run on 24)`;
  // The other checks depend on the environment variables that this one sets.
  let stack: DeployedStack | undefined;
  const target = await runCheck("target", async () => {
    const chosen = await useTarget(options);
    stack = chosen.stack;
    return chosen.description;
  });
  const found: Diagnosis[] = [
    { check: "node", status: "ok", found: node, remedy: null },
    target,
    await runCheck("region", () => new DynamoDB(clientConfig).config.region()),
    await runCheck("credentials", checkCredentials),
  ];
  for (const check of checksOf(stack))
    if (target.status === "ok") found.push(await runCheck(...check));
    else found.push({ check: check[0], status: "skipped", found: "there is no target", remedy: null });
  return found;
};

export const addDoctorCommand = (program: Command): void => {
  program
    .command("doctor")
    .description(
      "check the target, credentials, table, bucket, workflow and carrier; for a stack, also the steps of its first day",
    )
    .action(async ({ json }: Format, command: Command) => {
      const findings = await runChecks(command.optsWithGlobals<TargetOptions>());
      const ok = !hasFault(findings);
      if (json) printJson({ ok, checks: findings });
      else printDiagnoses(findings);
      if (!ok) process.exitCode = 1;
    });
};
