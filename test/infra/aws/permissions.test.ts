import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { managedPermissionsOf, permissionsOf } from "../../support/models/permissions.ts";
import { functionsWith, synthesize } from "../../support/models/template.ts";

const table = (...actions: string[]) => actions.map((action) => `dynamodb:${action} on Table`);
const partitions = (actions: readonly string[], keys: string, attributes = "") =>
  table(...actions).map(
    (each) => `${each} where {ForAllValues:StringLike:{dynamodb:LeadingKeys:[${keys}]}${attributes}}`,
  );
const files = (...actions: string[]) => actions.map((action) => `s3:${action} on Files/attachments/*`);
const key = (service: string, ...actions: string[]) => actions.map((action) => `kms:${action} on Key via ${service}`);

const readKey = key("dynamodb", "Decrypt", "DescribeKey");
const writeKey = key("dynamodb", "Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey");

/** What many functions do to the table. */
const read = [...table("BatchGetItem", "GetItem"), ...readKey];
const list = [...table("BatchGetItem", "GetItem", "Query"), ...readKey];
const write = [...table("BatchGetItem", "GetItem", "PutItem", "UpdateItem"), ...writeKey];
const writeAndDelete = [...write, ...table("DeleteItem")];
const carrier = ["secretsmanager:GetSecretValue on CarrierToken", ...key("secretsmanager", "Decrypt")];

const attachments = {
  create: [...write, ...files("DeleteObject", "PutObject"), ...key("s3", "GenerateDataKey")],
  "create-upload": [
    ...table("BatchGetItem", "GetItem", "PutItem"),
    ...writeKey,
    ...files("PutObject"),
    ...key("s3", "GenerateDataKey"),
  ],
  "complete-upload": [
    ...write,
    // Reads both ends of the file.
    ...files("GetObject"),
    ...key("s3", "Decrypt"),
    "s3:ListBucket on Files",
  ],
  list,
  show: read,
  update: write,
  delete: [...writeAndDelete, ...files("DeleteObject")],
};

/** The permissions of each function, repeated by hand, so that a wider row in the tables of routes and steps fails here. */
const expected: Record<string, readonly string[]> = {
  ...Object.fromEntries(
    ["request", "order"].flatMap((kind) =>
      Object.entries(attachments).map(([name, actions]) => [`${kind}-attachments/${name}`, actions]),
    ),
  ),
  // Its forwarding is that under each request of the order.
  "order-attachments/show": list,
  "switches/create": write,
  "switches/create-under-account": write,
  "switches/list": list,
  "switches/list-under-account": list,
  "switches/show": read,
  "switches/update": writeAndDelete,
  "switches/delete": writeAndDelete,
  "checkout/lock": write,
  "checkout/paginate": list,
  "checkout/forward": [
    ...writeAndDelete,
    ...table("Query"),
    ...files("GetObject", "GetObjectTagging"),
    ...key("s3", "Decrypt"),
    "s3:ListBucket on Files",
    ...carrier,
  ],
  "checkout/seal": [...table("BatchGetItem", "GetItem", "Query", "UpdateItem"), ...writeKey],
  "checkout/seal-order": [...table("UpdateItem"), ...writeKey],
  "checkout/submit": [...table("BatchGetItem", "GetItem", "UpdateItem"), ...writeKey, ...carrier],
  "checkout/finish": [...writeAndDelete, ...table("Query")],
  "checkout/fail": [...write, ...table("Query")],
  "checkout/release-lock": [
    ...write,
    "sqs:SendMessage on DeadLetters",
    "states:DescribeExecution on arn:{Ref:AWS::Partition}:states:{Ref:AWS::Region}:{Ref:AWS::AccountId}:execution:{Fn::GetAtt:[CheckoutB7CD3E82Name]}:*",
  ],
  "events/publish": [
    ...["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map(
      (action) => `dynamodb:${action} on {Fn::GetAtt:[TableCD117FA1,StreamArn]}`,
    ),
    "events:PutEvents on Events",
    ...key("dynamodb", "Decrypt"),
    "sqs:SendMessage on DeadLetters",
  ],
  "tenants/apply": write,
  "tenants/apply-orders": [
    ...partitions(["BatchGetItem", "GetItem"], "ACCOUNT#*,ORDER#*,REQUEST#*"),
    ...partitions(["PutItem", "UpdateItem"], "ORDER#*,REQUEST#*"),
    // The list of an account's orders.
    ...partitions(["PutItem"], "ACCOUNT#*", ",ForAllValues:StringEquals:{dynamodb:Attributes:[pk,sk,id]}"),
    ...writeKey,
  ],
  "sweep-orphan-files": [
    ...table("BatchGetItem", "DeleteItem", "GetItem", "PutItem"),
    ...writeKey,
    ...files("DeleteObject"),
    "s3:ListBucket on Files where {StringLike:{s3:prefix:attachments/*}}",
    "sqs:SendMessage on DeadLetters",
  ],
};

/** The permissions of every function: writing to its own log group, and sending traces, for which IAM has no resource. */
const common = (name: string) => {
  const logs = `${name.replaceAll(/[/-]/g, "")}logs`;
  return [
    `logs:CreateLogStream on ${logs}`,
    `logs:PutLogEvents on ${logs}`,
    "xray:PutTelemetryRecords on *",
    "xray:PutTraceSegments on *",
  ];
};

const { template } = synthesize("production");
const permissions = permissionsOf(template);

describe("a function's role", () => {
  it.each(Object.entries(expected))("has exactly the expected permissions: %s", (name, actions) => {
    expect(permissions[name]).toEqual([...actions, ...common(name)].sort());
  });

  it("exists for every function and no other", () => {
    expect(functionsWith(template)).toEqual(Object.keys(expected).sort());
  });

  it("is the operator in the events of the two functions that apply files", () => {
    const OPERATOR = { "Fn::GetAtt": [Match.stringLikeRegexp("^tenantsapply"), "Arn"] };
    const operators = functionsWith(template, { Environment: { Variables: { OPERATOR } } });
    expect(operators).toEqual(["tenants/apply", "tenants/apply-orders"]);
  });
});

it("the checkout's role may call the eight steps by their aliases, write logs and send traces, and nothing else", () => {
  const steps = ["fail", "finish", "forward", "lock", "paginate", "seal", "sealorder", "submit"];
  const role = permissions["the checkout calls its steps"] ?? [];
  expect(role.filter((each) => each.startsWith("lambda:"))).toEqual(
    steps.map((step) => `lambda:InvokeFunction on checkout${step}Aliaslive`),
  );
  const others = role.filter((each) => !each.startsWith("lambda:"));
  expect(others.filter((each) => !/^(logs|xray):\w+ on \*$/.test(each))).toEqual([]);
});

describe("the malware scan", () => {
  const rule =
    "arn:{Ref:AWS::Partition}:events:{Ref:AWS::Region}:{Ref:AWS::AccountId}:rule/DO-NOT-DELETE-AmazonGuardDutyMalwareProtectionS3*";
  const role = { "Fn::GetAtt": [Match.stringLikeRegexp("^MalwareScanRole"), "Arn"] };

  it("has the permissions that GuardDuty's documentation lists, and no other", () => {
    const managed = "{StringLike:{events:ManagedBy:malware-protection-plan.guardduty.amazonaws.com}}";
    expect(permissions["GuardDuty scans files"]).toEqual(
      [
        ...["PutRule", "DeleteRule", "PutTargets", "RemoveTargets"].map(
          (action) => `events:${action} on ${rule} where ${managed}`,
        ),
        ...["DescribeRule", "ListTargetsByRule"].map((action) => `events:${action} on ${rule}`),
        ...files("GetObject", "GetObjectVersion", "GetObjectTagging", "GetObjectVersionTagging"),
        ...files("PutObjectTagging", "PutObjectVersionTagging"),
        ...["PutBucketNotification", "GetBucketNotification", "ListBucket"].map((action) => `s3:${action} on Files`),
        "s3:PutObject on Files/malware-protection-resource-validation-object",
        ...key("s3", "GenerateDataKey", "Decrypt"),
      ].sort(),
    );
    const Principal = { Service: "malware-protection-plan.guardduty.amazonaws.com" };
    template.hasResourceProperties("AWS::IAM::Role", {
      Description: "Patchbay: GuardDuty scans files",
      AssumeRolePolicyDocument: { Statement: [{ Action: "sts:AssumeRole", Effect: "Allow", Principal }] },
    });
  });

  it("covers every file, and tags it", () => {
    template.hasResourceProperties("AWS::GuardDuty::MalwareProtectionPlan", {
      Role: role,
      ProtectedResource: { S3Bucket: { BucketName: { Ref: Match.anyValue() }, ObjectPrefixes: ["attachments/"] } },
      Actions: { Tagging: { Status: "ENABLED" } },
    });
  });

  it("is the only one that can set, change or delete a tag", () => {
    template.hasResourceProperties("AWS::S3::BucketPolicy", {
      PolicyDocument: {
        Statement: Match.arrayWith([
          {
            Effect: "Deny",
            Principal: { AWS: "*" },
            Action: ["Delete", "Put"].flatMap((verb) => [`s3:${verb}ObjectTagging`, `s3:${verb}ObjectVersionTagging`]),
            Resource: { "Fn::Join": ["", [Match.anyValue(), "/*"]] },
            Condition: { ArnNotEquals: { "aws:PrincipalArn": role } },
          },
        ]),
      },
    });
  });

  it.each([
    ["turned on", "production", ["checkout/forward"], 1],
    ["turned off", "sandbox", [], 0],
    ["turned on for an emulator", "emulated", [], 0],
  ] as const)("that is %s is known to the step that forwards", (_, name, functions, plans) => {
    const stack = synthesize(name).template;
    const Variables = { MALWARE_SCAN: Match.anyValue() };
    expect(functionsWith(stack, { Environment: { Variables } })).toEqual(functions);
    stack.resourceCountIs("AWS::GuardDuty::MalwareProtectionPlan", plans);
  });
});

describe("a managed policy", () => {
  const statementsOf = (description: string) => managedPermissionsOf(template)[description] ?? [];

  it.each([
    [
      "an ordering system starts checkouts and asks how they ended",
      [
        "lambda:InvokeFunction on tenantsapplyordersAliaslive",
        expect.stringMatching(/^states:DescribeExecution on arn.*:execution:.*:\*$/),
        "states:StartExecution on Checkout",
      ],
    ],
    ["the system of record of customers applies files", ["lambda:InvokeFunction on tenantsapplyAliaslive"]],
    [
      "operators download the files of attachments for disputes",
      [
        "cloudformation:DescribeStacks on {Ref:AWS::StackId}",
        ...table("BatchGetItem", "GetItem", "PutItem"),
        ...writeKey,
        ...files("GetObject"),
        ...key("s3", "Decrypt"),
        "s3:ListBucket on Files",
      ].sort(),
    ],
    [
      "operators run its CLI",
      [
        "cloudformation:DescribeStacks on {Ref:AWS::StackId}",
        ...table("BatchGetItem", "DeleteItem", "DescribeTable", "DescribeTimeToLive"),
        ...table("GetItem", "PutItem", "Query"),
        "dynamodb:Query on Table/index/lookup",
        ...table("Scan", "UpdateItem"),
        ...writeKey,
        ...files("DeleteObject"),
        "s3:ListBucket on Files",
        expect.stringMatching(/^states:DescribeExecution on arn.*:execution:.*:\*$/),
        "states:ListExecutions on Checkout",
        "states:StartExecution on Checkout",
      ],
    ],
  ])("lets %s, and nothing else", (description, statements) => {
    expect(statementsOf(description)).toEqual(statements);
  });

  it("lets other systems put rules on the bus and send archived events again, and nothing else", () => {
    const statements = statementsOf("other systems put rules on the bus");
    const [rules, others] = [/Rule|Targets/, /Replay|Archive|EventBus/];
    expect(statements.filter((each) => !rules.test(each) && !others.test(each))).toEqual([]);
    expect(statements.filter((each) => !/:rule\/\S*Events\S*\/\*$/.test(each))).toEqual([
      expect.stringMatching(/^events:CancelReplay on arn\S*:replay\/\*$/),
      "events:DescribeArchive on EventsArchive",
      "events:DescribeEventBus on Events",
      expect.stringMatching(/^events:DescribeReplay on arn\S*:replay\/\*$/),
      "events:StartReplay on EventsArchive",
    ]);
  });

  it("is an output of the stack, by its ARN", () => {
    const policies = Object.keys(template.findResources("AWS::IAM::ManagedPolicy"));
    const names = ["Ordering", "Tenancy", "Operator", "Evidence", "Event"].map((name) => `${name}PolicyArn`);
    const arns = names.map((name) => template.findOutputs(name)[name]?.Value.Ref);
    expect(new Set(arns)).toEqual(new Set(policies));
    template.hasOutput("StateMachineArn", { Value: { Ref: Match.stringLikeRegexp("^Checkout") } });
  });
});

it("no policy allows a whole service, a wildcard of actions, or all resources where IAM can name some", () => {
  const all = Object.values({ ...permissions, ...managedPermissionsOf(template) }).flat();
  expect(all.filter((each) => /^\S*\*/.test(each))).toEqual([]);
  expect(all.filter((each) => each.endsWith(" on *") && !/^(logs|xray):/.test(each))).toEqual([]);
});
