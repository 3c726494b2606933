// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the pages write references as CloudFormation does
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { placeholderOf } from "../../../functions/checkout/workflow.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { deployedPage } from "../../support/models/deployed.ts";
import type { Plain } from "../../support/models/description.ts";
import { otherStages, synthesize } from "../../support/models/template.ts";

/** Compares docs/deployed.txt with the code, and checks rules for the resources of every stage against lists written by hand. */

const production = synthesize("production");
const stacks = [production, ...otherStages.map(synthesize)];
const resources = stacks.flatMap(({ resources: all }) => [...all].map(([name, resource]) => ({ name, ...resource })));
const ofKind = (kind: string) => resources.filter((resource) => resource.kind === kind);

const textsIn = (value: Plain): string[] =>
  typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [String(value)];

/** The permissions in policies: the actions, the resources, and the principal unless it is the policy's role. */
const allowed = resources.flatMap(({ name, kind, properties }) =>
  textsIn(properties).flatMap((text) => {
    const parts = /^Allow ((?<who>.+?): )?(?<actions>.*?)( on (?<on>.*?))?( where .*)?$/.exec(text)?.groups;
    const { who, actions = "", on = "" } = parts ?? {};
    return parts ? { name, kind, text, who, actions: actions.split(", "), on: on.split(", ") } : [];
  }),
);
const unique = (texts: readonly string[]) => [...new Set(texts)].sort();

/** The lines of a page that another lacks, each with its resource. */
const missing = (page: string, other: string) => {
  const linesOf = (text: string) => {
    let resource = "";
    return text.split("\n").map((line) => {
      if (!line.startsWith(" ")) resource = line.split(" ", 2).join(" ");
      return line.startsWith(" ") ? `${resource} … ${line.trim()}` : line;
    });
  };
  const known = new Set(linesOf(other));
  return linesOf(page).filter((line) => !known.has(line));
};

it("docs/deployed.txt is what the code deploys: npm run deployed writes it", () => {
  const committed = readFileSync(join(import.meta.dirname, "../../../docs/deployed.txt"), "utf8");
  const page = deployedPage();
  expect({ added: missing(page, committed), removed: missing(committed, page) }).toEqual({ added: [], removed: [] });
  expect(committed === page, "the order of lines").toBe(true);
});

describe("only these", () => {
  const account = "StringEquals aws:SourceAccount ${AWS::AccountId}";
  const root = "AWS arn:${AWS::Partition}:iam::${AWS::AccountId}:root";
  const sendDeadLetters = "SQS::QueuePolicy: Service events.amazonaws.com: sqs:SendMessage on ${DeadLetters.Arn}";

  it("may assume a role, or use a key, a bucket, a queue or a topic by its own policy", () => {
    const others = allowed.filter(({ who }) => who !== undefined);
    expect(unique(others.map(({ kind, text }) => `${kind}: ${text.replace("Allow ", "")}`))).toEqual([
      // Some have no condition on the account. The role of the function that empties a sandbox's bucket is CDK's.
      "IAM::Role: Service apigateway.amazonaws.com: sts:AssumeRole",
      `IAM::Role: Service codedeploy.amazonaws.com: sts:AssumeRole where ${account}`,
      "IAM::Role: Service lambda.amazonaws.com: sts:AssumeRole",
      `IAM::Role: Service lambda.amazonaws.com: sts:AssumeRole where ${account}`,
      "IAM::Role: Service malware-protection-plan.guardduty.amazonaws.com: sts:AssumeRole",
      `IAM::Role: Service states.amazonaws.com: sts:AssumeRole where ${account}`,
      // Everyone whom the account's IAM policies allow.
      `KMS::Key: ${root}: kms:* on *`,
      `KMS::Key: ${root}: kms:CreateGrant, kms:Decrypt, kms:DescribeKey, kms:Encrypt, kms:GenerateDataKey*, kms:ReEncrypt* on * where StringEquals kms:ViaService secretsmanager.\${AWS::Region}.amazonaws.com`,
      `KMS::Key: Service cloudwatch.amazonaws.com: kms:Decrypt, kms:GenerateDataKey* on * where ${account}`,
      // With a condition on the source, EventBridge's messages would not arrive.
      "KMS::Key: Service events.amazonaws.com: kms:Decrypt, kms:GenerateDataKey* on * where ArnLike kms:EncryptionContext:aws:sns:topicArn arn:${AWS::Partition}:sns:${AWS::Region}:${AWS::AccountId}:<stack>-*",
      // CDK's function that empties the bucket of a sandbox.
      "S3::BucketPolicy: AWS ${Custom::S3AutoDeleteObjectsCustomResourceProvider/Role.Arn}: s3:DeleteObject*, s3:GetBucket*, s3:List*, s3:PutBucketPolicy on ${Files.Arn}, ${Files.Arn}/*",
      `S3::BucketPolicy: Service logging.s3.amazonaws.com: s3:PutObject on \${FileAccessLogs.Arn}/files/* where ArnLike aws:SourceArn \${Files.Arn} and ${account}`,
      `SNS::TopicPolicy: Service cloudwatch.amazonaws.com: sns:Publish on \${Pages} where ${account}`,
      `SNS::TopicPolicy: Service cloudwatch.amazonaws.com: sns:Publish on \${Tickets} where ${account}`,
      "SNS::TopicPolicy: Service events.amazonaws.com: sns:Publish on ${Tickets}",
      ...["FailedCheckout", "InfectedFile", "ScanStatus", "SweepDaily"].map(
        (rule) => `${sendDeadLetters} where ArnEquals aws:SourceArn \${${rule}.Arn}`,
      ),
    ]);
  });

  it("may invoke a function by its own policy: this API and these rules, by the alias", () => {
    const permissions = ofKind("Lambda::Permission").map(({ properties: { SourceArn, FunctionName, ...others } }) => {
      const from = String(SourceArn).replace(/\/(GET|HEAD|POST|PATCH|DELETE)\/.*$/, "/<route>");
      return `${from} ${String(FunctionName).replace(/\{.*\//, "{")} ${JSON.stringify(others)}`;
    });
    const by = (principal: string) => `{"Action":"lambda:InvokeFunction","Principal":"${principal}.amazonaws.com"}`;
    const api = "${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/${Api/DeploymentStage.live}";
    expect(unique(permissions)).toEqual([
      ...["FailedCheckout", "SweepDaily"].map((rule) => `\${${rule}.Arn} \${Aliaslive} ${by("events")}`),
      `arn:${api}/<route> \${Aliaslive} ${by("apigateway")}`,
    ]);
    expect(
      unique(resources.map(({ kind }) => kind).filter((kind) => /Url|AccessKey|IAM::User|BusPolicy/.test(kind))),
    ).toEqual([]);
  });

  const holders = (isMeant: (statement: (typeof allowed)[number]) => boolean) =>
    unique(allowed.filter(isMeant).map(({ name }) => name.replace(/^(order|request)-attachments/, "…-attachments")));

  it.each([
    [
      "s3:GetObject",
      ["EvidencePolicy", "MalwareScanRole", "checkout-forward-role", "…-attachments-complete-upload-role"],
    ],
    [
      "s3:PutObject",
      [
        "FileAccessLogs/Policy",
        "MalwareScanRole",
        // Only where there is no file.
        "OnCallPolicy",
        // For one object, which `doctor` stores.
        "OperatorPolicy",
        "…-attachments-create-role",
        "…-attachments-create-upload-role",
      ],
    ],
    [
      "s3:DeleteObject",
      ["OperatorPolicy", "sweep-orphan-files-role", "…-attachments-create-role", "…-attachments-delete-role"],
    ],
    ["s3:PutObjectTagging", ["MalwareScanRole"]],
    // Nobody can permanently delete a deleted file during its first day.
    ["s3:DeleteObjectVersion", []],
    ["s3:PutLifecycleConfiguration", []],
    ["secretsmanager:GetSecretValue", ["checkout-forward-role", "checkout-submit-role"]],
    // Whoever is on call may scan restored tables.
    ["dynamodb:Scan", ["OnCallPolicy", "OperatorPolicy"]],
    ["events:PutEvents", ["events-publish-role"]],
    ["states:StartExecution", ["OperatorPolicy", "OrderingPolicy"]],
  ])("may call %s", (action, names) => {
    expect(holders(({ actions }) => actions.includes(action))).toEqual(names);
  });

  it("may look up executions with the checkout's first step: those of the machine that calls it", () => {
    for (const { resources: all } of stacks) {
      const named = [...all].map(([name, resource]) => ({ name, ...resource }));
      const textsOf = (isMeant: (resource: (typeof named)[number]) => boolean) =>
        named.filter(isMeant).flatMap(({ properties }) => textsIn(properties));
      const arn = "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}";
      const looksUp = textsOf(({ name }) => name === "checkout-begin-role").filter((text) => text.includes("states:"));
      expect(looksUp).toEqual([`Allow states:DescribeExecution on ${arn}:execution:<stack>-checkout:*`]);
      expect(textsOf(({ name }) => name === "checkout-begin")).toContain(`${arn}:stateMachine:<stack>-checkout`);
      expect(textsOf(({ kind }) => kind === "StepFunctions::StateMachine")).toContain("<stack>-checkout");
    }
  });

  it("may call what a condition on all of a request's keys limits: the request must have any", () => {
    const limited = allowed.filter(({ text }) => text.includes("ForAllValues:"));
    for (const { name, text } of limited)
      for (const [, key] of text.matchAll(/ForAllValues:\w+ (\S+)/g)) expect(text, name).toContain(`Null ${key} false`);
    expect(unique(limited.map(({ name }) => name))).toEqual([
      "EvidencePolicy",
      "tenants-apply-orders-role",
      "tenants-apply-role",
    ]);
  });

  it("may invoke a function by a policy", () => {
    const invoking = allowed.filter(({ actions }) => actions.includes("lambda:InvokeFunction"));
    const invoked = (name: string) => unique(invoking.filter((each) => each.name === name).flatMap(({ on }) => on));
    expect(unique(invoking.map(({ name }) => name))).toEqual([
      "CheckoutRole",
      "OrderingPolicy",
      "TenancyPolicy",
      "checkout-forward-role",
      "checkout-submit-role",
    ]);
    expect(invoked("CheckoutRole")).toEqual(unique(steps.map(({ name }) => `\${${name.replace("/", "-")}/Aliaslive}`)));
    expect(invoked("OrderingPolicy")).toEqual(["${tenants-apply-orders/Aliaslive}"]);
    // Whoever may invoke this can create an API key for any account.
    expect(invoked("TenancyPolicy")).toEqual(["${tenants-apply/Aliaslive}"]);
  });

  it("are more than one resource or action, each for a reason", () => {
    const isWild = (part: string) => part.includes("*");
    const wild = allowed
      .filter(({ who }) => who === undefined)
      .flatMap(({ actions, on }) => [
        ...actions.filter((action) => isWild(action) || on.includes("*")).map((action) => `${action} on ${on}`),
        ...on.filter((resource) => resource !== "*" && isWild(resource)),
      ]);
    const account = "${AWS::Region}:${AWS::AccountId}";
    const reasons = {
      "X-Ray has no resources": ["xray:PutTelemetryRecords on *", "xray:PutTraceSegments on *"],
      "A file's name contains the ids of its upload": ["${Files.Arn}/attachments/*"],
      "An execution's name contains its order's id": [
        `arn:\${AWS::Partition}:states:${account}:execution:\${Checkout.Name}:*`,
        `arn:\${AWS::Partition}:states:${account}:execution:<stack>-checkout:*`,
      ],
      "Whoever puts a rule on the bus chooses its name": [`arn:\${AWS::Partition}:events:${account}:rule/\${Events}/*`],
      "Whoever starts a replay chooses the end of its name": [
        `arn:\${AWS::Partition}:events:${account}:replay/<stack>-*`,
      ],
      "CodeDeploy reads alarms by their names": ["cloudwatch:DescribeAlarms on *"],
      "Metrics, alarms and dashboards have no resources": [
        "DescribeAlarmHistory",
        "GetDashboard",
        "GetMetricData",
        "GetMetricStatistics",
        "ListDashboards",
        "ListMetrics",
      ].map((name) => `cloudwatch:${name} on *`),
      "Results of queries have no resources": [
        "DescribeQueryDefinitions",
        "GetLogRecord",
        "GetQueryResults",
        "StopQuery",
      ].map((name) => `logs:${name} on *`),
      "`doctor` lists trails, whose names it does not know": [
        "cloudtrail:DescribeTrails on *",
        "cloudtrail:GetEventSelectors on *",
      ],
      "A scan on demand names no resource": ["guardduty:SendObjectMalwareScan on *"],
      "A restored table's name ends with a time": [`arn:\${AWS::Partition}:dynamodb:${account}:table/\${Table}-*`],
      "GuardDuty chooses its rule's name": [
        `arn:\${AWS::Partition}:events:${account}:rule/DO-NOT-DELETE-AmazonGuardDutyMalwareProtectionS3*`,
      ],
    };
    const listed = new Set(Object.values(reasons).flat());
    // CDK writes the policy with which Step Functions delivers its logs and traces.
    const isDelivery = (text: string) =>
      /^(logs:\w+(LogDelivery|LogDeliveries|ResourcePolic(y|ies)|LogGroups)|xray:\w+) on \*$/.test(text);
    expect(unique(wild).filter((each) => !listed.has(each) && !isDelivery(each))).toEqual([]);
    expect(unique(resources.flatMap(({ properties }) => textsIn(properties.ManagedPolicyArns ?? [])))).toEqual(
      ["AWSLambdaBasicExecutionRole", "AmazonAPIGatewayPushToCloudWatchLogs"].map(
        (name) => `arn:\${AWS::Partition}:iam::aws:policy/service-role/${name}`,
      ),
    );
  });
});

describe("every resource", () => {
  it("satisfies cdk-nag, or says why not; production warns of what it should not be without", () => {
    expect(stacks.flatMap(({ findings }) => findings)).toEqual([]);
    const missing = [
      "pageEmail is not set",
      "ticketEmail is not set",
      "malwareScan is not true",
      "carrierConcurrency is not set",
    ];
    expect(production.warnings.map((each) => each.split(":")[0])).toEqual(missing);
  });

  it("is one of 450 at most: CloudFormation allows 500", () => {
    for (const { resources: all } of stacks) expect(all.size).toBeLessThan(450);
  });

  it("that can be turned off is on, but for the sweep in maintenance", () => {
    const off = [
      ...ofKind("Events::Rule"),
      ...ofKind("Lambda::EventSourceMapping"),
      ...ofKind("CloudWatch::Alarm"),
    ].filter(
      ({ properties: { State = "ENABLED", Enabled = true, ActionsEnabled = true } }) =>
        State !== "ENABLED" || Enabled !== true || ActionsEnabled !== true,
    );
    expect(off.map(({ name }) => name)).toEqual(["SweepDaily"]);
  });

  it("that watches tells one topic, also when it is over; a rule's event that no target takes is kept", () => {
    for (const { name, properties } of ofKind("CloudWatch::Alarm")) {
      expect([["${Pages}"], ["${Tickets}"]], name).toContainEqual(properties.AlarmActions);
      expect(properties.OKActions, name).toEqual(properties.AlarmActions);
    }
    for (const { name, properties } of ofKind("Events::Rule"))
      expect(properties.Targets, name).toMatchObject([{ DeadLetterConfig: { Arn: "${DeadLetters.Arn}" } }]);
  });

  it("names its actions, resources and principals, and contains no secret", () => {
    const found = stacks.flatMap(({ template }) =>
      [...JSON.stringify(template).matchAll(/"Not\w+":|resolve:|CARRIER_TOKEN"|"SecretString"/g)].map(([text]) => text),
    );
    expect(found).toEqual([]);
  });

  it("that the API or the workflow calls ends before its caller gives it up", () => {
    const functions = new Map([...production.resources].map(([name, { properties }]) => [name, properties]));
    const timeoutOf = (alias: string) => functions.get(alias.replace(/^.*\{(.*)\/Aliaslive.*$/, "$1"))?.Timeout;
    for (const { name, properties } of ofKind("ApiGateway::Method AWS_PROXY"))
      expect(timeoutOf(JSON.stringify(properties.Integration)), name).toBeLessThan(29);
    const definition = JSON.stringify(functions.get("Checkout")?.DefinitionString);
    for (const step of steps) {
      const task = new RegExp(`"FunctionName":"\\$\\{${placeholderOf(step)}\\}".*?"TimeoutSeconds":(\\d+)`).exec(
        definition,
      );
      expect([step.name, Number(task?.[1])]).toEqual([
        step.name,
        timeoutOf(`{${step.name.replace("/", "-")}/Aliaslive}`),
      ]);
    }
  });
});

describe("an alarm", () => {
  const alarmNamed = (name: string, stage: (typeof stacks)[number] = production) => {
    const { Metrics, ...properties } = stage.resources.get(`${name}Alarm`)?.properties ?? {};
    const [expression] = /(?<="Expression":").*?(?=","Id")/.exec(JSON.stringify(Metrics)) ?? [];
    return { ...properties, expression };
  };

  it("ends when DynamoDB's metric has no more data, and misses no period whose data come late", () => {
    const watching = ofKind("CloudWatch::Alarm").filter(({ properties }) => {
      const text = JSON.stringify(properties);
      return text.includes("AWS/DynamoDB") || text.includes("FILL(");
    });
    expect(unique(watching.map(({ name }) => name))).toEqual([
      "AccountThrottlesAlarm",
      "ConflictsAlarm",
      "IndexThrottlesAlarm",
      "MissedSweepsAlarm",
      "ReadThrottlesAlarm",
      "StoppedEventsAlarm",
      "WriteThrottlesAlarm",
    ]);
    for (const { name, properties } of watching) {
      expect(properties.Namespace, name).not.toBe("AWS/DynamoDB");
      const text = JSON.stringify(properties.Metrics);
      const [expression = ""] = /(?<="Expression":").*?(?=","Id")/.exec(text) ?? [];
      for (const [, id = ""] of text.matchAll(/"Id":"(?!expr_)(\w+)"/g))
        expect(expression, name).toContain(`FILL(${id}, 0)`);
      const { DatapointsToAlarm = properties.EvaluationPeriods, EvaluationPeriods } = properties;
      if (name !== "MissedSweepsAlarm") expect(DatapointsToAlarm, name).toBeLessThan(Number(EvaluationPeriods));
    }
    for (const name of ["ReadThrottles", "WriteThrottles", "IndexThrottles"])
      expect(alarmNamed(name), name).toMatchObject({ DatapointsToAlarm: 1, EvaluationPeriods: 3 });
    expect(alarmNamed("Conflicts")).toMatchObject({ DatapointsToAlarm: 3, EvaluationPeriods: 4 });
  });

  it("is raised two days after the last sweep, whether a day without one has data or not", () => {
    expect(alarmNamed("MissedSweeps")).toMatchObject({
      expression: "FILL(sweeps, 0)",
      ComparisonOperator: "LessThanThreshold",
      Threshold: 1,
      EvaluationPeriods: 2,
      TreatMissingData: "breaching",
    });
  });

  it("is raised while the table is written and its events are not read, which leaves the publisher without data", () => {
    const { expression, ...properties } = alarmNamed("StoppedEvents");
    expect(expression).toBe("IF(FILL(units, 0) >= 20 AND FILL(runs, 0) == 0, 1, 0)");
    expect(properties).toMatchObject({ Threshold: 1, DatapointsToAlarm: 3, EvaluationPeriods: 4 });
  });

  it("is raised if callers are refused, but not by a few who make mistakes", () => {
    const { expression, ...properties } = alarmNamed("RefusedRequests");
    expect(expression).toBe("IF(requests >= 20, 100 * refused / requests, 0)");
    expect(properties).toMatchObject({ Threshold: 90, EvaluationPeriods: 3 });
  });

  it("about throttled calls leaves out those that carrierConcurrency throttles by design", () => {
    const limited = synthesize("production with all that it may have");
    expect(alarmNamed("AccountThrottles", limited).expression).toBe("FILL(all, 0) - FILL(s0, 0) - FILL(s1, 0)");
    const { Metrics } = limited.resources.get("AccountThrottlesAlarm")?.properties ?? {};
    for (const name of ["checkout-forward", "checkout-submit"]) expect(JSON.stringify(Metrics)).toContain(name);
  });
});

describe("API Gateway returns", () => {
  const gatewayResponse = (type: string) => {
    const { ResponseTemplates, StatusCode, ResponseParameters } =
      production.resources.get(`Api/${type}`)?.properties ?? {};
    const [, code] = /"code":"(\w+)"/.exec(JSON.stringify(ResponseTemplates)) ?? [];
    return { code, status: StatusCode, headers: textsIn(Object.keys(Object(ResponseParameters))).sort() };
  };
  const named = (...names: string[]) => names.map((name) => `gatewayresponse.header.${name}`).sort();
  const common = ["Cache-Control", "X-Request-Id", "X-Content-Type-Options", "Strict-Transport-Security"];

  it.each(["INTEGRATION_FAILURE", "INTEGRATION_TIMEOUT", "DEFAULT_5XX"])(
    "503 with Retry-After for a function that was throttled, was killed or is too slow, as %s",
    (type) => {
      const headers = named(...common, "Retry-After");
      expect(gatewayResponse(type)).toEqual({ code: "service_unavailable", status: "503", headers });
    },
  );

  it.each([
    ["REQUEST_TOO_LARGE", "413"],
    ["BAD_REQUEST_BODY", "413"],
    ["DEFAULT_4XX", undefined],
  ])("the code of a file that is too large for Lambda, as %s", (type, status) => {
    expect(gatewayResponse(type)).toEqual({ code: "payload_too_large", status, headers: named(...common) });
  });
});

it("every deployment that changes anything ends with the release of the sweep, which waits for all others", () => {
  const releases = stacks.map(({ template }) => /"RELEASE":"(\w+)"/.exec(JSON.stringify(template))?.[1]);
  expect(releases).toEqual([expect.any(String), undefined, expect.any(String), undefined]);
  expect(releases[0]).not.toBe(releases[2]);
  expect(production.resources.get("sweep-orphan-files/Aliaslive")?.properties).toMatchObject({
    DependsOn: ["every Lambda::Alias", "${Checkout}"],
    UpdatePolicy: { CodeDeployLambdaAliasUpdate: { DeploymentGroupName: "${@/Aliaslive/Rollout}" } },
  });
});

/** If its logical id or name changed, CloudFormation would replace the resource with an empty one. */
it("what production retains keeps its logical ids and names", () => {
  const all = synthesize("production with all that it may have");
  const retained = Object.entries(all.template.Resources).filter(([, { DeletionPolicy }]) =>
    String(DeletionPolicy).startsWith("Retain"),
  );
  const names = retained.flatMap(([id, { Type, UpdateReplacePolicy, Properties = {} }]) => {
    expect(UpdateReplacePolicy, id).toBe("Retain");
    const named = Object.entries(Properties ?? {}).filter(([name]) => /^(?:|\w*[a-z])Name$/.test(name));
    // No later version reads a log group without a name.
    return Type === "AWS::Logs::LogGroup" && named.length === 0 ? [] : [[id, named.map(([, value]) => value)] as const];
  });
  const stackId = { "Fn::Select": [2, { "Fn::Split": ["/", { Ref: "AWS::StackId" }] }] };
  const joined = (...parts: unknown[]) => ({ "Fn::Join": ["", parts] });
  expect(Object.fromEntries(names)).toEqual({
    TableCD117FA1: [],
    Files8E6940B8: [],
    FileAccessLogs13D3DDB8: [],
    Key961B73FD: [],
    CarrierToken8A5A8756: [],
    DeadLettersBBF8BAAB: [],
    EventsD32975C2: ["Patchbay-production"],
    EventsArchive5A2DBDD8: [],
    OrderingPolicy1DBBD72A: [],
    TenancyPolicy121BE75B: [],
    OperatorPolicy63C1EB6F: [],
    OnCallPolicyB59D3EC8: [],
    EvidencePolicyB9072647: [],
    EventPolicyCF688C56: [],
    CheckoutLogsCF9A0DAB: [joined("/aws/vendedlogs/states/Patchbay-production-", stackId)],
    ApiExecutionLogs66FBF5B8: [joined("API-Gateway-Execution-Logs_", { Ref: "ApiF70053CD" }, "/live")],
    ApiCloudWatchRole73EC6FC4: [],
    ApiAccountA18C9B29: [],
  });
});

/** `cdk import` submits a template of the mapped resources only. */
describe("what a new stack adopts of a deleted one", () => {
  const [, mapping = ""] = readFileSync("infra/runbook.md", "utf8").split("list-stack-resources");
  const identified = [...(mapping.split("as $identifier")[0] ?? "").matchAll(/"(AWS::\w+::\w+)": "\w+"/g)];
  const types = identified.map(([, type = ""]) => type);
  const retained = stacks.map(({ template }) =>
    Object.entries(template.Resources).filter(([, { DeletionPolicy }]) => String(DeletionPolicy).startsWith("Retain")),
  );
  const targetsIn = (value: unknown): string[] => {
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([name, inner]) => {
      if (name === "Ref" || name === "DependsOn") return [inner].flat().map(String);
      if (name === "Fn::GetAtt") return [String(inner[0])];
      if (name === "Fn::Sub") return [`a text: ${JSON.stringify(inner)}`];
      return targetsIn(inner);
    });
  };

  it("refers only to itself", () => {
    for (const resources of retained) {
      const adopted = new Map(resources.filter(([, { Type }]) => types.includes(Type)));
      const targets = [...adopted.values()].flatMap(targetsIn);
      expect(targets.filter((id) => !id.startsWith("AWS::") && !adopted.has(id))).toEqual([]);
    }
  });

  it("is all that is retained, except logs, their role and managed policies", () => {
    const left = retained.flat().filter(([, { Type }]) => !types.includes(Type));
    expect(unique(left.map(([, { Type }]) => Type))).toEqual([
      "AWS::ApiGateway::Account",
      "AWS::IAM::ManagedPolicy",
      "AWS::IAM::Role",
      "AWS::Logs::LogGroup",
    ]);
    expect(types.filter((type) => !retained.flat().some(([, { Type }]) => Type === type))).toEqual([]);
  });
});

it("the stack policy refuses to delete and to replace what holds data or an address; for a restore, it frees the table only", () => {
  const policy = (name: string) => JSON.parse(readFileSync(`infra/aws/${name}.json`, "utf8")).Statement;
  const refusing = (types: readonly string[]) => [
    { Effect: "Allow", Principal: "*", Action: "Update:*", Resource: "*" },
    {
      Effect: "Deny",
      Principal: "*",
      Resource: "*",
      Action: ["Update:Delete", "Update:Replace"],
      Condition: { StringEquals: { ResourceType: types.map((type) => `AWS::${type}`) } },
    },
  ];
  const data = [
    "S3::Bucket",
    "KMS::Key",
    "SecretsManager::Secret",
    "SQS::Queue",
    "Events::EventBus",
    "Events::Archive",
  ];
  const kept = [...data, "ApiGateway::RestApi", "ApiGateway::DomainName"];
  expect(policy("stack-policy")).toEqual(refusing(["DynamoDB::Table", ...kept]));
  expect(policy("stack-policy-restore")).toEqual(refusing(kept));
  const { resources: all } = synthesize("production with all that it may have");
  for (const kind of kept)
    expect(
      [...all.values()].some((each) => each.kind.startsWith(kind)),
      kind,
    ).toBe(true);
});

it("an event that the bus refuses holds up a tenth of its shard, and not the rest of its batch", () => {
  for (const { properties } of ofKind("Lambda::EventSourceMapping"))
    expect(properties).toMatchObject({
      ParallelizationFactor: 10,
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ["ReportBatchItemFailures"],
    });
});

it("a restored table has an id of its own, so functions get new versions, and CloudFormation can import it by its name", () => {
  const { Resources } = synthesize("production with the other choice of each setting, in maintenance").template;
  const tables = Object.entries(Resources).filter(([, { Type }]) => Type === "AWS::DynamoDB::Table");
  expect(tables).toMatchObject([
    [expect.stringMatching(/^restoredTable/), { Properties: { TableName: "restored" }, DeletionPolicy: "Retain" }],
  ]);
});

it("a sandbox without an address for alarms has no alarms, topic and dashboard, and no output of them", () => {
  const { resources: all, template } = synthesize("a sandbox");
  const kinds = ["CloudWatch::Alarm", "CloudWatch::Dashboard", "SNS::Topic", "SNS::TopicPolicy", "SNS::Subscription"];
  expect([...all.values()].filter(({ kind }) => kinds.includes(kind))).toEqual([]);
  expect(Object.keys(template.Outputs)).not.toContain("AlarmTopicArn");
});

it("25 sandboxes fit into an account, which has 1,000 roles by default", () => {
  const roles = [...synthesize("a sandbox").resources.values()].filter(({ kind }) => kind === "IAM::Role");
  expect(roles.length).toBeLessThanOrEqual(1_000 / 25);
});

it("a sandbox leaves nothing behind but the region's role for logs", () => {
  const left = Object.entries(synthesize("a sandbox").template.Resources).filter(([, { DeletionPolicy }]) =>
    String(DeletionPolicy).startsWith("Retain"),
  );
  expect(left.map(([, { Type }]) => Type)).toEqual(["AWS::IAM::Role", "AWS::ApiGateway::Account"]);
});
