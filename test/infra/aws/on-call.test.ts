import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createProgram } from "../../../infra/admin/program.ts";
import { textOfResource } from "../../support/models/deployed-production.ts";

/** Compares what infra/runbook.md asks of whoever is on call with their two policies in docs/deployed.txt. */

const runbook = readFileSync("infra/runbook.md", "utf8");

const actionsOf = (policies: readonly string[]) =>
  new Set(
    policies.flatMap((policy) =>
      [...textOfResource(policy).matchAll(/- Allow (.*?) on /g)].flatMap(([, actions = ""]) => actions.split(", ")),
    ),
  );
const allowed = actionsOf(["OnCallPolicy", "OperatorPolicy"]);

/** Whoever deploys does these, with the roles of `cdk bootstrap` and what infra/README.md lists. */
const ofWhoeverDeploys = [
  "cloudformation:DeleteStack",
  "cloudformation:SetStackPolicy",
  "cloudformation:UpdateTerminationProtection",
  "cloudformation:Wait",
  "dynamodb:DeleteTable",
  "lambda:PutFunctionConcurrency",
];

const services = new Map([
  ["s3api", "s3"],
  ["stepfunctions", "states"],
]);

/** IAM names these otherwise than the API does. */
const renamed = new Map([
  ["s3:GetObject", "s3:GetObjectVersion"],
  ["s3:ListObjectVersions", "s3:ListBucketVersions"],
  ["s3:ListObjectsV2", "s3:ListBucket"],
]);

it("every AWS CLI command of the runbook is allowed to whoever is on call, or is one of a deployment", () => {
  const commands = [...runbook.matchAll(/\baws ([a-z0-9]+) ([a-z0-9]+(?:-[a-z0-9]+)*)/g)];
  const asked = commands.map(([, service = "", command = ""]) => {
    const operation = command.replaceAll(/(^|-)(\w)/g, (_, _hyphen, letter) => letter.toUpperCase());
    const action = `${services.get(service) ?? service}:${operation}`;
    return renamed.get(action) ?? action;
  });
  expect(asked.length).toBeGreaterThan(15);
  const refused = asked.filter((action) => !allowed.has(action));
  // The shipped production has no scan. With one, the policy allows it: see "are more than one resource or action" in deployed.test.ts.
  expect([...new Set(refused)].sort()).toEqual([...ofWhoeverDeploys, "guardduty:SendObjectMalwareScan"].sort());
});

const reads = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"];
const writes = [...reads, "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"];
const lists = [...reads, "states:DescribeExecution"];

/** What the CLI's commands call. */
const calls: Readonly<Record<string, readonly string[]>> = {
  "account erase": [...writes, "dynamodb:ConditionCheckItem", "s3:DeleteObject"],
  check: [...reads, "dynamodb:Scan", "s3:ListBucket"],
  doctor: [
    "cloudtrail:GetEventSelectors",
    "lambda:GetEventSourceMapping",
    "secretsmanager:DescribeSecret",
    "sns:ListSubscriptionsByTopic",
  ],
  find: reads,
  "history order": reads,
  "key issue": writes,
  "key revoke": writes,
  "key show": reads,
  "order checkout": [...lists, "states:StartExecution"],
  "order list": lists,
  "order show": lists,
  "order settle": writes,
  restore: [
    "dynamodb:RestoreTableToPointInTime",
    "dynamodb:UpdateTimeToLive",
    "dynamodb:TagResource",
    "kms:CreateGrant",
  ],
  sweep: [...writes, "s3:ListBucket", "s3:DeleteObject"],
};

/** These need other policies or none, as the runbook and infra/README.md say. */
const ofOthers = ["account export", "carrier check", "deploy", "destroy", "start"];

it("every ./patchbay command of the runbook is allowed to whoever is on call, or is one of others", async () => {
  const program = await createProgram();
  const groups = new Set(program.commands.filter(({ commands }) => commands.length > 0).map((each) => each.name()));
  const lines = [...runbook.matchAll(/(?:\.\/patchbay|`)(?: --stack \S+)? ?([a-z]+)(?: ([a-z]+))?/g)];
  const asked = lines.flatMap(([text, first = "", second = ""]) => {
    const name = groups.has(first) && second ? `${first} ${second}` : first;
    return text.startsWith("./patchbay") || name in calls ? name : [];
  });
  expect([...new Set(asked)].filter((name) => !(name in calls) && !ofOthers.includes(name))).toEqual([]);
  expect(Object.keys(calls).filter((name) => !asked.includes(name))).toEqual([]);
  expect(
    Object.values(calls)
      .flat()
      .filter((action) => !allowed.has(action)),
  ).toEqual([]);
});

it.each([
  ["Logs Insights", ["logs:StartQuery", "logs:GetQueryResults"]],
  ["saved query", ["logs:DescribeQueryDefinitions"]],
  ["Its log", ["logs:FilterLogEvents", "logs:GetLogEvents", "logs:DescribeLogStreams"]],
  ["alarm", ["cloudwatch:DescribeAlarms", "cloudwatch:DescribeAlarmHistory"]],
  ["metric", ["cloudwatch:GetMetricData", "cloudwatch:ListMetrics"]],
  ["dashboard", ["cloudwatch:GetDashboard"]],
  ["X-Ray", ["xray:GetTraceSummaries", "xray:BatchGetTraces"]],
  ["queue", ["sqs:ReceiveMessage", "sqs:DeleteMessage"]],
  ["rule `SweepDaily`", ["events:DescribeRule", "events:EnableRule", "events:DisableRule"]],
  ["event source mapping", ["lambda:UpdateEventSourceMapping"]],
  ["UPDATE_ROLLBACK_FAILED", ["cloudformation:DescribeStackEvents"]],
])("whoever is on call may look at what the runbook calls %s", (words, actions) => {
  expect(runbook).toContain(words);
  expect(actions.filter((action) => !allowed.has(action))).toEqual([]);
});

it("the runbook names each metric and each special line of the functions' logs", () => {
  const files = globSync(["functions/**/*.ts", "shared/**/*.ts"]);
  const sources = files.map((file) => readFileSync(file, "utf8")).join("\n");
  const namesBy = (pattern: RegExp) => [...sources.matchAll(pattern)].map(([, name = ""]) => name);
  const metrics = namesBy(/(?<!\w)(\w+): "(?:Count|Milliseconds)"/g);
  const counts = [...namesBy(/(\b[A-Z]\w+)(?=[^;{}]*\};?\n\s*emitCounts)/g), ...namesBy(/emitCounts\(\{ (\w+):/g)];
  const lines = namesBy(/log\.(?:error|info)\("([^"]+)"/g);
  expect(metrics).toEqual(expect.arrayContaining(["ms", "Defects", "FailedCheckouts"]));
  expect(counts).toEqual(expect.arrayContaining(["SweptDays", "SweepsStopped", "OverdueCheckouts"]));
  expect(lines).toEqual(expect.arrayContaining(["checkout-failed", "SWEEP_STOPPED"]));
  expect([...metrics, ...counts, ...lines].filter((name) => !runbook.includes(`\`${name}\``))).toEqual([]);
});
