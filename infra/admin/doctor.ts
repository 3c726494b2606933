import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { S3 } from "@aws-sdk/client-s3";
import { SFN } from "@aws-sdk/client-sfn";
import type { Command } from "commander";
import { filePrefix } from "../../shared/attachments/file-keys.ts";
import { clientSettings } from "../../shared/deadline.ts";
import { env } from "../../shared/env.ts";
import { adviceOn, CommandError, messageOf } from "./command-errors.ts";
import { format, printJson, safeLines } from "./output.ts";
import { type TargetOptions, useTarget } from "./target.ts";

/** The result of one check and, if it failed, a remedy. Skipped: it depends on a failed one, or on what emulators lack. */
type Diagnosis = {
  readonly check: string;
  readonly status: "ok" | "FAULT" | "skipped";
  readonly found: string;
  readonly remedy: string | null;
};

/** What emulators lack is not a fault of the stack. They expire no items, and not all of them store that they should. */
const lackOfEmulators = /not enabled on expires_at|NotImplemented|UnknownOperation|not (yet )?(implemented|supported)/i;

const isOnEmulator = () =>
  Object.entries(process.env).some(([name, value]) => name.startsWith("AWS_ENDPOINT_URL") && value);

const generalRemedy = "Deploy the stack (`npm run deploy`), or correct --stack or the environment variables.";

type Find = () => Promise<string> | string;

const runCheck = async (check: string, find: Find, remedy = generalRemedy): Promise<Diagnosis> => {
  try {
    return { check, status: "ok", found: await find(), remedy: null };
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

/** A check reports the first failure. */
const clientConfig = { ...clientSettings(5_000), maxAttempts: 1 };

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

const checkBucket = async () => {
  const s3 = new S3({ ...clientConfig, forcePathStyle: env.hasS3Endpoint() });
  await s3.listObjectsV2({ Bucket: env.bucketName(), Prefix: filePrefix, MaxKeys: 1 });
  return env.bucketName();
};

const checkWorkflow = async () => {
  const stateMachineArn = env.stateMachineArn();
  const sfn = new SFN(clientConfig);
  const { executions = [] } = await sfn.listExecutions({ stateMachineArn, maxResults: 100 });
  for (const { name, status, executionArn, startDate, stopDate } of executions) {
    const { error } = status === "FAILED" ? await sfn.describeExecution({ executionArn }) : {};
    // A start beside a running one is not the failure of a checkout.
    if (error === "AlreadyRunning") continue;
    const when = stopDate ? `ended at ${stopDate.toISOString()}` : `started at ${startDate?.toISOString()}`;
    return `${stateMachineArn.split(":").at(-1)}, last run ${name} ${status}, ${when}`;
  }
  return `${stateMachineArn.split(":").at(-1)}, no runs yet`;
};

const checksOfTarget: readonly (readonly [check: string, find: Find, remedy?: string])[] = [
  ["table", checkTable],
  ["table's TTL", checkTtl, "Deploy the stack again: without TTL, used Idempotency-Keys are kept forever."],
  [
    "table's stream",
    checkStream,
    "No event is published. `npm run restore` turns on the stream of a restored table: see infra/runbook.md.",
  ],
  ["bucket", checkBucket],
  ["workflow", checkWorkflow],
];

const runChecks = async (options: TargetOptions): Promise<Diagnosis[]> => {
  const node = `Node ${process.versions.node} (the functions run on 24)`;
  // The other checks depend on the environment of the target.
  const target = await runCheck("target", () => useTarget(options));
  const found: Diagnosis[] = [
    { check: "node", status: "ok", found: node, remedy: null },
    target,
    await runCheck("region", () => new DynamoDB(clientConfig).config.region()),
    await runCheck("credentials", checkCredentials),
  ];
  for (const check of checksOfTarget)
    if (target.status === "ok") found.push(await runCheck(...check));
    else found.push({ check: check[0], status: "skipped", found: "there is no target", remedy: null });
  return found;
};

/** Several checks can have the same remedy. It is printed once. */
const printFindings = (findings: readonly Diagnosis[]) => {
  const printed = new Set<string | null>([null]);
  for (const { check, status, found, remedy } of findings) {
    const text = printed.has(remedy) ? found : `${found}\n${remedy}`;
    printed.add(remedy);
    console.log(safeLines(`${status.padEnd(7)}  ${check}: ${text}`.replaceAll("\n", "\n         ")));
  }
};

export const addDoctorCommand = (program: Command): void => {
  program
    .command("doctor")
    .description("check the target, region, credentials, table, its stream, bucket and workflow, and suggest remedies")
    .action(async (_: unknown, command: Command) => {
      const findings = await runChecks(command.optsWithGlobals<TargetOptions>());
      const ok = !findings.some(({ status }) => status === "FAULT");
      if (format.json) printJson({ ok, checks: findings });
      else printFindings(findings);
      if (!ok) process.exitCode = 1;
    });
};
