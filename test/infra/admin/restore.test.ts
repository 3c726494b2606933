import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import {
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  ListTagsOfResourceCommand,
  TagResourceCommand,
} from "@aws-sdk/client-dynamodb";
import { PutCommand, ScanCommand } from "@aws-sdk/lib-dynamodb";
import pLimit from "p-limit";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { listen } from "../../../infra/local/listen.ts";
import { env } from "../../../shared/env.ts";
import { dynamodb } from "../../../shared/table/client.ts";
import { interceptCalls } from "../../support/fault-proxy/intercept.ts";
import { customer } from "../../support/fixtures/tenants.ts";
import { failure } from "../../support/processes/failure.ts";
import { killedAfter } from "../../support/processes/killed-admin.ts";
import { admin } from "../../support/requests/admin.ts";
import { byExtent, exhaustive } from "../../support/setup/extent.ts";

/** The embedded DynamoDB can neither restore a table nor keep backups. This server adds both, with AWS's delays and refusals. */

const { AWS_ENDPOINT_URL_DYNAMODB: embedded = "" } = process.env;
const to = "2026-11-21T12:00:00.000Z";

const Input = z.looseObject({ TableName: z.optional(z.string()), TargetTableName: z.optional(z.string()) });

const restored = new Map<string, object>();
const withBackups = new Set<string>();
const calls: string[] = [];
/** The operations on the table in service. */
const onSource = new Set<string>();
const source = env.tableName();
/** A restored table has a maximum only if the call sets it. */
const maximum = { MaxReadRequestUnits: 12_000, MaxWriteRequestUnits: 8_000 };
/** How many more DescribeTable calls report the table as busy. */
let busy = 0;
let isInterrupted = false;

/** Copies only the items and the indexes, as a restore does. */
const copyTable = async (TableName: string) => {
  const { Table } = await dynamodb().send(new DescribeTableCommand({ TableName: env.tableName() }));
  const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes: indexes = [] } = Table ?? {};
  const settingsOf = ({ IndexName, KeySchema, Projection }: (typeof indexes)[number]) => ({
    IndexName,
    KeySchema,
    Projection,
  });
  const GlobalSecondaryIndexes = indexes.map(settingsOf);
  const settings = { BillingMode: "PAY_PER_REQUEST", AttributeDefinitions, KeySchema, GlobalSecondaryIndexes } as const;
  await dynamodb().send(new CreateTableCommand({ TableName, ...settings }));
  const { Items = [] } = await dynamodb().send(new ScanCommand({ TableName: env.tableName() }));
  for (const Item of Items) await dynamodb().send(new PutCommand({ TableName, Item }));
};

const refusal = (name: string) => ({ status: 400, body: { __type: `com.amazonaws.dynamodb.v20120810#${name}` } });

const answer = async (operation: string, input: Record<string, unknown>, pass: () => Promise<Response>) => {
  const { TableName = "", TargetTableName = "" } = z.parse(Input, input);
  if (!/^(Describe|List)/.test(operation)) calls.push(operation);
  if ([TableName, input.SourceTableName, String(input.ResourceArn).split("/")[1]].includes(source))
    onSource.add(operation);
  if (operation === "RestoreTableToPointInTime") {
    await copyTable(TargetTableName);
    const arn = `arn:aws:dynamodb:dynoxide:000000000000:table/${input.SourceTableName}`;
    if (JSON.stringify(input.OnDemandThroughputOverride) !== JSON.stringify(maximum))
      return refusal("ValidationException");
    restored.set(TargetTableName, { SourceTableArn: arn, RestoreDateTime: input.RestoreDateTime });
    busy = 2;
    return { status: 200, body: {} };
  }
  if (operation === "UpdateTable" && isInterrupted) return refusal("AccessDeniedException");
  if (operation === "DescribeTable" && restored.has(TableName)) {
    const { Table } = z.parse(z.object({ Table: z.looseObject({}) }), await (await pass()).json());
    const TableStatus = busy > 0 ? "UPDATING" : "ACTIVE";
    busy = Math.max(0, busy - 1);
    return { status: 200, body: { Table: { ...Table, TableStatus, RestoreSummary: restored.get(TableName) } } };
  }
  if (operation === "DescribeTable") {
    const response = await pass();
    const { Table } = z.parse(z.object({ Table: z.optional(z.looseObject({})) }), await response.clone().json());
    return {
      status: response.status,
      body: Table ? { Table: { ...Table, OnDemandThroughput: maximum } } : await response.json(),
    };
  }
  if (operation.endsWith("ContinuousBackups")) {
    // At first, a new table cannot have backups.
    if (operation.startsWith("Update") && calls.filter((call) => call === operation).length === 1)
      return refusal("ContinuousBackupsUnavailableException");
    if (operation.startsWith("Update")) withBackups.add(TableName);
    const PointInTimeRecoveryStatus = withBackups.has(TableName) ? "ENABLED" : "DISABLED";
    const PointInTimeRecoveryDescription = { PointInTimeRecoveryStatus };
    const ContinuousBackupsDescription = { ContinuousBackupsStatus: "ENABLED", PointInTimeRecoveryDescription };
    return { status: 200, body: { ContinuousBackupsDescription } };
  }
  if (operation === "UpdateTable" && busy > 0) return refusal("ResourceInUseException");
  if (operation === "UpdateTable") busy = 2;
  const response = await pass();
  return { status: response.status, body: await response.json() };
};

const type = { "Content-Type": "application/x-amz-json-1.0" };

/** A command that is repeated finds what an earlier one has begun. */
const oneByOne = pLimit(1);

const server = createServer(async (request, response) => {
  const target = String(request.headers["x-amz-target"]);
  const input = z.parse(Input, await json(request));
  const { authorization = "", "x-amz-date": date } = request.headers;
  const headers = { Authorization: authorization, "X-Amz-Target": target, "X-Amz-Date": String(date) };
  const pass = () => fetch(embedded, { method: "POST", headers: { ...headers, ...type }, body: JSON.stringify(input) });
  const { status, body } = await oneByOne(() => answer(target.split(".")[1] ?? "", input, pass));
  response.writeHead(status, type).end(JSON.stringify(body));
});

const { url, close } = await listen(server);
afterAll(close);
const aws = { AWS_ENDPOINT_URL_DYNAMODB: url };

const restore = (...args: readonly string[]) => admin(["restore", "--poll", "0", ...args], { env: aws });

const changes = () => calls.splice(0).filter((call) => !call.startsWith("Tag"));

describe("restoring the table", () => {
  // Also clears the calls of a failed test.
  beforeEach(() => void calls.splice(0));

  const name = () => `${env.tableName()}-20261121T120000Z`;
  const result = () => ({ settings: { restoredTable: name() } });

  it("creates a copy with settings and tags, and prints what to put into the stage's file", async () => {
    const { order } = await customer();
    const client = new DynamoDBClient({ endpoint: embedded });
    const { Table } = await client.send(new DescribeTableCommand({ TableName: env.tableName() }));
    const Tags = [{ Key: "team", Value: "numbers" }];
    await client.send(new TagResourceCommand({ ResourceArn: Table?.TableArn, Tags }));

    // A large table takes hours to read. The copy here is made by another scan.
    const scans: object[] = [];
    const stop = interceptCalls(({ operation, command }, pass) => {
      if (operation === "Scan" && "ConsistentRead" in command.input) scans.push(command.input);
      return pass();
    });
    const { stdout, code } = await restore("--to", to, "--json");
    stop();
    expect([code, JSON.parse(stdout), scans]).toEqual([0, result(), []]);
    // The first UpdateContinuousBackups is refused, because the table is too new. UpdateTable calls do not overlap.
    expect(changes()).toEqual([
      "RestoreTableToPointInTime",
      "UpdateTimeToLive",
      "UpdateContinuousBackups",
      "UpdateContinuousBackups",
      "UpdateTable",
      "UpdateTable",
    ]);
    const { Table: copy } = await client.send(new DescribeTableCommand({ TableName: name() }));
    expect(copy).toMatchObject({
      DeletionProtectionEnabled: true,
      StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_IMAGE" },
    });
    const tagged = await client.send(new ListTagsOfResourceCommand({ ResourceArn: copy?.TableArn }));
    const ttl = await client.send(new DescribeTimeToLiveCommand({ TableName: name() }));
    expect([tagged.Tags, ttl.TimeToLiveDescription?.AttributeName]).toEqual([Tags, "expires_at"]);
    const shown = await admin(["order", "show", order, "--json"], { env: { TABLE_NAME: name() } });
    expect(JSON.parse(shown.stdout)).toMatchObject({ id: order });
  });

  it("makes no other calls about the table in service", () => {
    expect([...onSource].sort()).toEqual(["DescribeTable", "ListTagsOfResource", "RestoreTableToPointInTime"]);
  });

  it("changes nothing when it is repeated, also with --as alone", async () => {
    for (const arg of [`--to=${to}`, `--as=${name()}`]) {
      const { stdout, code } = await restore(arg, "--json");
      expect([arg, JSON.parse(stdout), code, changes()]).toEqual([arg, result(), 0, []]);
    }
  });

  it("continues after an interruption", async () => {
    const other = ["--to", to, "--as", `${env.tableName()}-other`];
    isInterrupted = true;
    expect(await restore(...other)).toEqual(failure(1, "These credentials do not allow this"));
    isInterrupted = false;
    expect(await restore(...other)).toMatchObject({
      code: 0,
      stdout: `{\n  "restoredTable": "${env.tableName()}-other"\n}\n`,
    });
    expect(await admin(["check", "--table", `${env.tableName()}-other`])).toMatchObject({
      code: 0,
      stdout: "No problems found.\n",
    });
  });

  it.runIf(exhaustive)("ends the same after a kill -9 at any moment", async () => {
    let kills = 0;
    for (let moment = 0; moment < byExtent({ sample: 3, most: 7, all: 20 }); moment += 1) {
      changes();
      const args = ["--to", to, "--as", `${env.tableName()}-${moment}`];
      const when = { ms: 10 * moment, since: () => calls.length > 0, env: aws };
      if (await killedAfter(["restore", "--poll", "0", ...args], when)) kills += 1;
      expect(await restore(...args)).toMatchObject({ code: 0 });
      changes();
      expect(await restore(...args, "--json")).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(args[3] ?? ""),
      });
      expect(changes()).toEqual([]);
    }
    expect(kills).toBeGreaterThan(0);
  });

  it("refuses the copy of another table", async () => {
    const args = ["restore", "--to", to, "--as", `${env.tableName()}-other`];
    const service = { ...aws, TABLE_NAME: name() };
    expect(await admin(args, { env: service })).toEqual(failure(1, "exists and is not a copy of"));
  });

  it.each([
    ["another time", ["--to", "2026-11-20T12:00:00Z", "--as", "NAME"], 1, "exists and is not a copy of"],
    ["a table that does not exist", ["--as", "missing"], 1, "There is no table missing"],
    ["the table in service", ["--as", "SOURCE"], 2, "--as must differ from the table in service."],
    ["no time", [], 2, "Specify --to <time>"],
    ["a local time", ["--to", "2026-11-20 12:00"], 2, "It must be a time in UTC"],
  ])("refuses %s", async (_, args, expected, message) => {
    const given = args.map((arg) => ({ NAME: name(), SOURCE: env.tableName() })[arg] ?? arg);
    expect(await restore(...given)).toEqual(failure(expected, message));
    expect(changes()).toEqual([]);
  });
});
