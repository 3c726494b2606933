import { DescribeTableCommand, DescribeTimeToLiveCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { HeadBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { ListExecutionsCommand, SFNClient } from "@aws-sdk/client-sfn";
import type { Command } from "commander";
import { env } from "../../shared/env.ts";
import type { Output } from "./make.ts";
import { printRows } from "./output.ts";

/** One thing looked at: what was found, and where it is at fault, what to do about it. */
type Finding = { readonly check: string; readonly ok: boolean; readonly found: string; readonly remedy: string | null };

const messageOf = (error: unknown) =>
  error instanceof Error
    ? [error.name, error.message].filter((part) => part && part !== "Error").join(": ") || "no answer"
    : String(error);

/** Runs one check; what it throws is what it found. */
const look = async (check: string, remedy: string, find: () => Promise<string> | string): Promise<Finding> => {
  try {
    return { check, ok: true, found: await find(), remedy: null };
  } catch (error) {
    return { check, ok: false, found: messageOf(error), remedy };
  }
};

const once = {
  maxAttempts: 1,
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
};

const checkNode = () => {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < 24) throw new Error(`Node ${process.versions.node}`);
  return `Node ${process.versions.node}`;
};

const checkCredentials = async (dynamodb: DynamoDBClient) => {
  const { accessKeyId } = await dynamodb.config.credentials();
  return `access key ${accessKeyId.slice(0, 4)}…, region ${await dynamodb.config.region()}`;
};

const checkTable = async (dynamodb: DynamoDBClient) => {
  const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName: env.tableName() }));
  const schema = (Table?.KeySchema ?? []).map(({ AttributeName, KeyType }) => `${AttributeName} ${KeyType}`).join(", ");
  if (schema !== "pk HASH, sk RANGE") throw new Error(`its key schema is ${schema}`);
  return `${env.tableName()}, ${Table?.TableStatus?.toLowerCase() ?? "of unknown state"}`;
};

const checkTtl = async (dynamodb: DynamoDBClient) => {
  const { TimeToLiveDescription: ttl } = await dynamodb.send(
    new DescribeTimeToLiveCommand({ TableName: env.tableName() }),
  );
  if (ttl?.AttributeName !== "expires_at") throw new Error("there is none on expires_at");
  return `on expires_at, ${ttl.TimeToLiveStatus?.toLowerCase()}`;
};

const checkBucket = async (s3: S3Client) => {
  await s3.send(new HeadBucketCommand({ Bucket: env.bucketName() }));
  return env.bucketName();
};

const checkWorkflow = async (sfn: SFNClient) => {
  const stateMachineArn = env.stateMachineArn();
  const { executions } = await sfn.send(new ListExecutionsCommand({ stateMachineArn, maxResults: 1 }));
  const [last] = executions ?? [];
  return `${stateMachineArn.split(":").at(-1)}, ${last ? `last run ${last.name} ${last.status}` : "no runs yet"}`;
};

/** Everything that a deployment needs, looked at in order; nothing is changed. */
export const examine = async (): Promise<Finding[]> => {
  const dynamodb = new DynamoDBClient(once);
  const s3 = new S3Client({ ...once, forcePathStyle: env.hasS3Endpoint() });
  const sfn = new SFNClient(once);
  return [
    await look("node", "Run it through npm (`npm run admin -- doctor`): the project brings its own Node.", checkNode),
    await look("environment", "Set TABLE_NAME and BUCKET_NAME, or start a local stack with `npm start`.", () =>
      [env.tableName(), env.bucketName()].join(", "),
    ),
    await look("credentials", "Log in to AWS (`aws sso login`, AWS_PROFILE) and set AWS_REGION.", () =>
      checkCredentials(dynamodb),
    ),
    await look(
      "table",
      "Deploy the stack (`npm run deploy`), or correct TABLE_NAME, AWS_REGION or AWS_ENDPOINT_URL_DYNAMODB.",
      () => checkTable(dynamodb),
    ),
    await look("table's TTL", "Deploy the stack again: without TTL, used Idempotency-Keys are kept for ever.", () =>
      checkTtl(dynamodb),
    ),
    await look(
      "bucket",
      "Deploy the stack (`npm run deploy`), or correct BUCKET_NAME, AWS_REGION or AWS_ENDPOINT_URL_S3.",
      () => checkBucket(s3),
    ),
    await look(
      "workflow",
      "Deploy the stack (`npm run deploy`), or correct STATE_MACHINE_ARN, AWS_REGION or AWS_ENDPOINT_URL_SFN.",
      () => checkWorkflow(sfn),
    ),
  ];
};

/** `doctor`: exits with 1 where anything is at fault. */
export const addDoctorCommand = (program: Command): void => {
  program
    .command("doctor")
    .description("check environment, credentials, table, bucket and workflow; each fault comes with its remedy")
    .option("--json", "print JSON")
    .action(async ({ json }: Output) => {
      const findings = await examine();
      printRows(
        findings.map(({ ok, ...finding }) => ({ ...finding, ok: ok ? "ok" : "FAULT" })),
        { json },
      );
      if (findings.some(({ ok }) => !ok)) process.exitCode = 1;
    });
};
