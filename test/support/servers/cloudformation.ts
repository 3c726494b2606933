import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import project from "../../../package.json" with { type: "json" };

const described = (name: string, outputs: Readonly<Record<string, string>>, isNew: boolean) => {
  const members = Object.entries({ Version: project.version, ...outputs })
    .map(([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`)
    .join("");
  return `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>${name}</StackName><StackId>arn:aws:cloudformation:us-east-1:000000000000:stack/${name}/1</StackId><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-01-01T00:00:00Z</CreationTime><EnableTerminationProtection>${!isNew}</EnableTerminationProtection><Outputs>${members}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
};

const stackPolicy = (isNew: boolean) =>
  `<GetStackPolicyResponse><GetStackPolicyResult>${isNew ? "" : "<StackPolicyBody>{}</StackPolicyBody>"}</GetStackPolicyResult></GetStackPolicyResponse>`;

const subscriptions = (isNew: boolean) => {
  const arn = isNew ? "PendingConfirmation" : "arn:aws:sns:us-east-1:000000000000:alarms:1";
  const member = `<member><SubscriptionArn>${arn}</SubscriptionArn><Endpoint>ops@acme.example</Endpoint></member>`;
  return `<ListSubscriptionsByTopicResponse><ListSubscriptionsByTopicResult><Subscriptions>${member}</Subscriptions></ListSubscriptionsByTopicResult></ListSubscriptionsByTopicResponse>`;
};

const secret = (isNew: boolean) => ({
  VersionIdsToStages: { one: ["AWSCURRENT"], ...(!isNew && { two: ["AWSPREVIOUS"] }) },
});

const trailArn = "arn:aws:cloudtrail:us-east-1:000000000000:trail/audit";
const eventSelectors = JSON.parse(readFileSync("infra/aws/trail-selectors.json", "utf8"));

/** A trail of management events only on the first day, and one with the selectors of infra/aws after its setup. */
const cloudTrail = (operation: string, isNew: boolean) =>
  operation === "DescribeTrails"
    ? { trailList: [{ Name: "audit", TrailARN: trailArn }] }
    : { TrailARN: trailArn, AdvancedEventSelectors: isNew ? eventSelectors.slice(0, 1) : eventSelectors };

const noStack =
  "<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id X does not exist</Message></Error></ErrorResponse>";

const noTopic =
  "<ErrorResponse><Error><Code>InvalidParameter</Code><Message>Invalid parameter: TopicArn</Message></Error></ErrorResponse>";

/** What Lambda says about the reader of the stream, and CloudWatch about the age of what it read last. */
export type Reader = { readonly State: string; readonly LastProcessingResult?: string; readonly ageMs?: number };

const readerOf = ({ ageMs: _, ...reader }: Reader) => ({
  ...reader,
  FunctionArn: "arn:aws:lambda:us-east-1:000000000000:function:publish:live",
  StateTransitionReason: "User action",
});

const ages = ({ ageMs }: Reader) => ({
  MetricDataResults: [
    { Id: "age", ...(ageMs === undefined ? { Timestamps: [], Values: [] } : { Timestamps: [1.8e9], Values: [ageMs] }) },
  ],
});

/** A simulated CloudFormation with one stack that has these outputs, a topic and a secret, on its first day or after its setup. */
export const cloudFormation = (
  stackName: string,
  outputs: Readonly<Record<string, string>> = {},
  isNew = true,
  reader: Reader = { State: "Enabled" },
) =>
  createServer(async (request, response) => {
    const body = await text(request);
    if (request.headers["x-amz-target"] === "secretsmanager.DescribeSecret")
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(secret(isNew)));
    const json = { "content-type": "application/json" };
    if (request.url?.startsWith("/2015-03-31/event-source-mappings/"))
      return response.writeHead(200, json).end(JSON.stringify(readerOf(reader)));
    const [, trailOperation] = /^CloudTrail_\d+\.(\w+)$/.exec(String(request.headers["x-amz-target"])) ?? [];
    if (trailOperation) return response.writeHead(200, json).end(JSON.stringify(cloudTrail(trailOperation, isNew)));
    if (String(request.headers["x-amz-target"]).endsWith(".GetMetricData"))
      return response.writeHead(200, json).end(JSON.stringify(ages(reader)));
    const sent = new URLSearchParams(body);
    const send = (status: number, xml: string) => response.writeHead(status, { "content-type": "text/xml" }).end(xml);
    if (sent.get("Action") === "ListSubscriptionsByTopic")
      return sent.has("TopicArn") ? send(200, subscriptions(isNew)) : send(400, noTopic);
    if (sent.get("StackName") !== stackName) return send(400, noStack);
    send(200, sent.get("Action") === "GetStackPolicy" ? stackPolicy(isNew) : described(stackName, outputs, isNew));
  });
