import { once } from "node:events";
import http from "node:http";
import https from "node:https";
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

/** The result of one check and, if it failed, a remedy. Skipped: it depends on a failed one, or on what emulators lack. */
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

/** What emulators lack is not a fault of the stack. They expire no items, and not all of them store that they should. */
const lackOfEmulators = /not enabled on expires_at|NotImplemented|UnknownOperation|not (yet )?(implemented|supported)/i;

/** Runs one check. An error is a finding, too. */
const runCheck = async (check: string, remedy: string, find: () => Promise<string> | string): Promise<Finding> => {
  try {
    return { check, ok: "ok", found: await find(), remedy: null };
  } catch (error) {
    const found = describe(error);
    if (endpoints().length > 0 && lackOfEmulators.test(found))
      return { check, ok: "skipped", found: `emulators need not support it: ${found}`, remedy: null };
    // The message of a CommandError contains the remedy.
    const own = error instanceof CommandError ? "" : remedy;
    return { check, ok: "FAULT", found, remedy: adviceOn(error) ?? own };
  }
};

/** A check reports the first failure. */
const clientConfig = {
  maxAttempts: 1,
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
};

/** Node runs TypeScript without a build from 22.18 on. */
export const checkNode = (version = process.versions.node): string => {
  if (Number(version.split(".")[0]) < 22) throw new Error(`Node ${version}`);
  return `Node ${version} (the functions run on 24)`;
};

const checkRegion = () => new DynamoDBClient(clientConfig).config.region();

const checkCredentials = async () => {
  const { accessKeyId } = await new DynamoDBClient(clientConfig).config.credentials();
  return `access key ${accessKeyId.slice(0, 4)}…`;
};

const endpoints = () => {
  const names = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_SFN"];
  return [...new Set(names.flatMap((name) => process.env[name] || []))];
};

/** Without fetch, which refuses the port of the embedded DynamoDB, as browsers do. */
const checkEndpoint = async (endpoint: string) => {
  const { get } = endpoint.startsWith("https:") ? https : http;
  const request = get(endpoint, { signal: AbortSignal.timeout(5_000) });
  await once(request, "response").catch((error: unknown) => {
    throw new Error(`nothing responds at ${endpoint}`, { cause: error });
  });
  request.destroy();
  return `${endpoint} responds`;
};

const checkTable = async () => {
  const { Table } = await new DynamoDBClient(clientConfig).send(
    new DescribeTableCommand({ TableName: env.tableName() }),
  );
  const schema = (Table?.KeySchema ?? []).map(({ AttributeName, KeyType }) => `${AttributeName} ${KeyType}`).join(", ");
  if (schema !== "pk HASH, sk RANGE") throw new Error(`its key schema is ${schema}`);
  return `${env.tableName()}, ${Table?.TableStatus?.toLowerCase() ?? "status unknown"}`;
};

const checkTtl = async () => {
  const { TimeToLiveDescription: ttl } = await new DynamoDBClient(clientConfig).send(
    new DescribeTimeToLiveCommand({ TableName: env.tableName() }),
  );
  if (ttl?.AttributeName !== "expires_at") throw new Error("it is not enabled on expires_at");
  return `on expires_at, ${ttl.TimeToLiveStatus?.toLowerCase()}`;
};

const checkStream = async () => {
  const { Table } = await new DynamoDBClient(clientConfig).send(
    new DescribeTableCommand({ TableName: env.tableName() }),
  );
  if (Table?.StreamSpecification?.StreamViewType !== "NEW_IMAGE") throw new Error("it has none with new images");
  return `${Table.LatestStreamLabel ?? "enabled"}, new images`;
};

const checkBucket = async () => {
  const client = new S3Client({ ...clientConfig, forcePathStyle: env.hasS3Endpoint() });
  await client.send(new HeadBucketCommand({ Bucket: env.bucketName() }));
  return env.bucketName();
};

const checkWorkflow = async () => {
  const stateMachineArn = env.stateMachineArn();
  const { executions } = await new SFNClient(clientConfig).send(
    new ListExecutionsCommand({ stateMachineArn, maxResults: 1 }),
  );
  const [last] = executions ?? [];
  return `${stateMachineArn.split(":").at(-1)}, ${last ? `last run ${last.name} ${last.status}` : "no runs yet"}`;
};

const targetChecks = ["table", "table's TTL", "table's stream", "bucket", "workflow"];

/** Checks everything that a deployment needs, in order. Read-only. */
const runChecks = async (options: TargetOptions): Promise<Finding[]> => {
  const target = await runCheck("target", "Correct --stack, AWS_PROFILE or AWS_REGION.", () => useTarget(options));
  const found = [
    await runCheck("node", "Run it through npm (`npm run admin -- doctor`): the project has its own Node.", () =>
      checkNode(),
    ),
    target,
    await runCheck("region", "Set AWS_REGION.", checkRegion),
    await runCheck("credentials", "Log in to AWS (`aws sso login`) and set AWS_PROFILE.", checkCredentials),
  ];
  for (const endpoint of endpoints())
    found.push(
      await runCheck("endpoint", "Start the service there, or correct the AWS_ENDPOINT_URL variables.", () =>
        checkEndpoint(endpoint),
      ),
    );
  if (target.ok !== "ok")
    return [
      ...found,
      ...targetChecks.map((check) => ({ check, ok: "skipped" as const, found: "there is no target", remedy: null })),
    ];
  const remedyFor = (variable: string, service: string) =>
    `Deploy the stack (\`npm run deploy\`), or correct ${variable}, AWS_REGION or AWS_ENDPOINT_URL_${service}.`;
  return [
    ...found,
    await runCheck("table", remedyFor("TABLE_NAME", "DYNAMODB"), checkTable),
    await runCheck(
      "table's TTL",
      "Deploy the stack again: without TTL, used Idempotency-Keys are kept forever.",
      checkTtl,
    ),
    await runCheck(
      "table's stream",
      "No event is published. A restored table needs a stream and the setting restoredTableStream: see infra/README.md.",
      checkStream,
    ),
    await runCheck("bucket", remedyFor("BUCKET_NAME", "S3"), checkBucket),
    await runCheck("workflow", remedyFor("STATE_MACHINE_ARN", "SFN"), checkWorkflow),
  ];
};

/** Several checks can have the same remedy. It is printed once. */
const printFindings = (findings: readonly Finding[]) => {
  const printed = new Set<string>();
  for (const { check, ok, found, remedy } of findings) {
    const [first = "", ...others] = found.split("\n");
    printIndented(`${ok.padEnd(7)}  ${check}: `, first);
    for (const line of [...others, ...(remedy && !printed.has(remedy) ? [remedy] : [])])
      printIndented("         ", line);
    printed.add(remedy ?? "");
  }
};

/** `doctor`: exits with 1 if a check fails. */
export const addDoctorCommand = (program: Command): void => {
  program
    .command("doctor")
    .description(
      "check the target, region, credentials, endpoints, table, its stream, bucket and workflow, and suggest remedies",
    )
    .action(async (_: Output, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<TargetOptions & Output>();
      const findings = await runChecks(options);
      if (json) printJson(findings);
      else printFindings(findings);
      if (findings.some(({ ok }) => ok === "FAULT")) process.exitCode = 1;
    });
};
