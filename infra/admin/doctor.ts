import { DescribeTableCommand, DescribeTimeToLiveCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { HeadBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { ListExecutionsCommand, SFNClient } from "@aws-sdk/client-sfn";
import type { Command } from "commander";
import { env } from "../../shared/env.ts";
import { CommandError } from "./command-error.ts";
import { adviceOn, messageOf } from "./explain.ts";
import type { Output } from "./options.ts";
import { printIndented, printJson } from "./output.ts";
import { type TargetOptions, useTarget } from "./target.ts";

/** One check: what was found and, for a fault, its remedy. Checks that depend on a fault are skipped. */
type Finding = {
  readonly check: string;
  readonly ok: "ok" | "FAULT" | "skipped";
  readonly found: string;
  readonly remedy: string | null;
};

const describe = (error: unknown) => {
  const name = error instanceof Error && !["Error", "CommandError"].includes(error.name) ? `${error.name}: ` : "";
  return name + messageOf(error);
};

/** Runs one check. Its error is its finding. */
const look = async (check: string, remedy: string, find: () => Promise<string> | string): Promise<Finding> => {
  try {
    return { check, ok: "ok", found: await find(), remedy: null };
  } catch (error) {
    const own = error instanceof CommandError ? "" : remedy;
    return { check, ok: "FAULT", found: describe(error), remedy: [adviceOn(error), own].filter(Boolean).join(" ") };
  }
};

const once = {
  maxAttempts: 1,
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
};

/** Runs TypeScript as it is, which Node does from 22.18 on. */
export const checkNode = (version = process.versions.node): string => {
  if (Number(version.split(".")[0]) < 22) throw new Error(`Node ${version}`);
  return `Node ${version} (the functions run on 24)`;
};

const checkRegion = async () => {
  const region = await new DynamoDBClient(once).config.region();
  return region;
};

const checkCredentials = async () => {
  const { accessKeyId } = await new DynamoDBClient(once).config.credentials();
  return `access key ${accessKeyId.slice(0, 4)}…`;
};

const endpoints = () => {
  const names = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_SFN"];
  return [...new Set(names.flatMap((name) => process.env[name] || []))];
};

const checkEndpoint = async (endpoint: string) => {
  await fetch(endpoint, { signal: AbortSignal.timeout(5_000) }).catch((error: unknown) => {
    throw new Error(`nothing answers at ${endpoint}`, { cause: error });
  });
  return `${endpoint} answers`;
};

const checkTable = async () => {
  const { Table } = await new DynamoDBClient(once).send(new DescribeTableCommand({ TableName: env.tableName() }));
  const schema = (Table?.KeySchema ?? []).map(({ AttributeName, KeyType }) => `${AttributeName} ${KeyType}`).join(", ");
  if (schema !== "pk HASH, sk RANGE") throw new Error(`its key schema is ${schema}`);
  return `${env.tableName()}, ${Table?.TableStatus?.toLowerCase() ?? "of unknown state"}`;
};

const checkTtl = async () => {
  const { TimeToLiveDescription: ttl } = await new DynamoDBClient(once).send(
    new DescribeTimeToLiveCommand({ TableName: env.tableName() }),
  );
  if (ttl?.AttributeName !== "expires_at") throw new Error("there is none on expires_at");
  return `on expires_at, ${ttl.TimeToLiveStatus?.toLowerCase()}`;
};

const checkBucket = async () => {
  const client = new S3Client({ ...once, forcePathStyle: env.hasS3Endpoint() });
  await client.send(new HeadBucketCommand({ Bucket: env.bucketName() }));
  return env.bucketName();
};

const checkWorkflow = async () => {
  const stateMachineArn = env.stateMachineArn();
  const { executions } = await new SFNClient(once).send(new ListExecutionsCommand({ stateMachineArn, maxResults: 1 }));
  const [last] = executions ?? [];
  return `${stateMachineArn.split(":").at(-1)}, ${last ? `last run ${last.name} ${last.status}` : "no runs yet"}`;
};

const parts = ["table", "table's TTL", "bucket", "workflow"];

/** Checks everything that a deployment needs, in order. Changes nothing. */
const examine = async (options: TargetOptions): Promise<Finding[]> => {
  const target = await look("target", "Correct --stack, AWS_PROFILE or AWS_REGION.", () => useTarget(options));
  const found = [
    await look("node", "Run it through npm (`npm run admin -- doctor`): the project brings its own Node.", () =>
      checkNode(),
    ),
    target,
    await look("region", "Set AWS_REGION.", checkRegion),
    await look("credentials", "Log in to AWS (`aws sso login`) and set AWS_PROFILE.", checkCredentials),
  ];
  for (const endpoint of endpoints())
    found.push(
      await look("endpoint", "Start what should answer there, or correct the AWS_ENDPOINT_URL variables.", () =>
        checkEndpoint(endpoint),
      ),
    );
  if (target.ok !== "ok")
    return [
      ...found,
      ...parts.map((check) => ({ check, ok: "skipped" as const, found: "the target is at fault", remedy: null })),
    ];
  const correct = (variable: string, service: string) =>
    `Deploy the stack (\`npm run deploy\`), or correct ${variable}, AWS_REGION or AWS_ENDPOINT_URL_${service}.`;
  return [
    ...found,
    await look("table", correct("TABLE_NAME", "DYNAMODB"), checkTable),
    await look(
      "table's TTL",
      "Deploy the stack again: without TTL, used Idempotency-Keys are kept for ever.",
      checkTtl,
    ),
    await look("bucket", correct("BUCKET_NAME", "S3"), checkBucket),
    await look("workflow", correct("STATE_MACHINE_ARN", "SFN"), checkWorkflow),
  ];
};

const print = ({ check, ok, found, remedy }: Finding) => {
  printIndented(`${ok.padEnd(7)}  ${check}: `, found);
  if (remedy) printIndented("         ", remedy);
};

/** `doctor`: exits with 1 where anything is at fault. */
export const addDoctorCommand = (program: Command): void => {
  program
    .command("doctor")
    .description(
      "check target, region, credentials, endpoints, table, bucket and workflow; each fault comes with its remedy",
    )
    .action(async (_: Output, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<TargetOptions & Output>();
      const findings = await examine(options);
      if (json) printJson(findings);
      else findings.forEach(print);
      if (findings.some(({ ok }) => ok === "FAULT")) process.exitCode = 1;
    });
};
