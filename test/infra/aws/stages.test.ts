import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { droppedSettings, explainDropped, fromTemplate, settingsOf } from "../../../infra/aws/deployed-settings.ts";
import { emulated, settingsIn, synthesize } from "../../support/models/template.ts";

const https = { stage: "production", carrierUrl: "https://carrier.example" };
const given = { ...https, alarmEmail: "a@example.com", webAclArn: "arn:aws:wafv2:acl" };
const origins = "https://app.example,http://localhost:5173";

/** The stacks, synthesized when a test first needs them. */
const production = () => synthesize(undefined, { nag: true });
const sandbox = () => synthesize({ stage: "sandbox" }, { nag: true });
const onEmulator = () => synthesize(emulated);
/** A stack as a first deployment creates it. */
const creating = () => synthesize({ ...given, protectTable: "false" });
/** A sandbox with changed settings. */
const anna = () =>
  synthesize({
    stage: "sandbox",
    name: "anna",
    uploadOrigins: origins,
    maxUploadBytes: "1000",
    throttleRate: "7",
    logRetentionDays: "30",
    apiLogsRole: "own",
  });
const both = [
  ["production", production],
  ["sandbox", sandbox],
] as const;

describe("direct uploads", () => {
  it("have no CORS unless a stage names origins", () => {
    for (const [, stack] of both)
      stack().template.allResourcesProperties("AWS::S3::Bucket", { CorsConfiguration: Match.absent() });
  });

  it("are allowed from the origins that a stage names: only PUT, with the signed headers", () => {
    anna().template.hasResourceProperties("AWS::S3::Bucket", {
      CorsConfiguration: {
        CorsRules: [
          {
            AllowedHeaders: ["content-type", "if-none-match", "x-amz-checksum-sha256"],
            AllowedMethods: ["PUT"],
            AllowedOrigins: origins.split(","),
            MaxAge: 3600,
          },
        ],
      },
    });
  });

  it("refuse a value that is not an origin", () => {
    for (const uploadOrigins of ["*", "https://app.example/path", "app.example", "https://*.example"])
      expect(() => synthesize({ stage: "sandbox", uploadOrigins }), uploadOrigins).toThrow(/uploadOrigins|origin/);
  });

  it("have the limit that a stage sets, only in the functions that prepare them", () => {
    const limited = anna().template.findResources("AWS::Lambda::Function", {
      Properties: { Environment: { Variables: { MAX_UPLOAD_BYTES: "1000" } } },
    });
    expect(Object.values(limited).map(({ Properties }) => Properties.Description)).toEqual(
      ["request", "order"].map((kind) => `functions/${kind}-attachments/create-upload.ts`),
    );
  });
});

describe.each(both)("%s", (_, stack) => {
  it("has no cdk-nag finding that is not accepted with a reason", () => {
    expect(stack().findings).toEqual([]);
  });

  it("has an on-demand table, encrypted with our key, with point-in-time recovery and TTL", () => {
    stack().template.resourceCountIs("AWS::DynamoDB::Table", 1);
    stack().template.hasResourceProperties("AWS::DynamoDB::Table", {
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [
        { AttributeName: "pk", KeyType: "HASH" },
        { AttributeName: "sk", KeyType: "RANGE" },
      ],
      SSESpecification: { SSEEnabled: true, SSEType: "KMS", KMSMasterKeyId: Match.anyValue() },
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      TimeToLiveSpecification: { AttributeName: "expires_at", Enabled: true },
    });
    stack().template.hasResourceProperties("AWS::KMS::Key", { EnableKeyRotation: true });
  });

  it("has a private, unversioned bucket, encrypted with our key, that requires TLS and removes incomplete uploads", () => {
    stack().template.hasResourceProperties("AWS::S3::Bucket", {
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          { ServerSideEncryptionByDefault: { SSEAlgorithm: "aws:kms", KMSMasterKeyID: Match.anyValue() } },
        ],
      },
      VersioningConfiguration: Match.absent(),
      LifecycleConfiguration: {
        Rules: [{ AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }, Status: "Enabled" }],
      },
    });
    stack().template.allResourcesProperties("AWS::S3::BucketPolicy", {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Action: "s3:*",
            Effect: "Deny",
            Principal: { AWS: "*" },
            Condition: { Bool: { "aws:SecureTransport": "false" } },
          }),
        ]),
      },
    });
  });

  it("has a secret for the carrier, encrypted with our key", () => {
    stack().template.hasResourceProperties("AWS::SecretsManager::Secret", { KmsKeyId: Match.anyValue() });
  });
});

/** The types of the resources that are kept when the stack is deleted. */
const kept = ({ template }: ReturnType<typeof sandbox>): string[] => {
  const resources: Record<string, { Type: string; DeletionPolicy?: string }> = template.toJSON().Resources;
  const staying = Object.values(resources).filter(({ DeletionPolicy }) => DeletionPolicy?.startsWith("Retain"));
  return [...new Set(staying.map(({ Type }) => Type))].sort();
};

describe("production", () => {
  it("keeps its data if the stack is deleted, and is protected from deletion", () => {
    expect(production().terminationProtection).toBe(true);
    production().template.hasResourceProperties("AWS::DynamoDB::Table", { DeletionProtectionEnabled: true });
    expect(kept(production())).toEqual(
      expect.arrayContaining([
        "AWS::DynamoDB::Table",
        "AWS::KMS::Key",
        "AWS::Logs::LogGroup",
        "AWS::S3::Bucket",
        "AWS::SecretsManager::Secret",
      ]),
    );
  });

  it("leaves nothing behind if its first deployment fails", () => {
    const resources: Record<string, { DeletionPolicy?: string }> = production().template.toJSON().Resources;
    const policies = new Set(Object.values(resources).map(({ DeletionPolicy }) => DeletionPolicy));
    expect(policies).toEqual(new Set([undefined, "RetainExceptOnCreate", "Delete"]));
    creating().template.hasResourceProperties("AWS::DynamoDB::Table", { DeletionProtectionEnabled: false });
  });

  it("can use a table restored from a backup, with the same metrics and permissions", () => {
    const restored = synthesize({ ...https, restoredTable: "restored" }, { nag: true });
    restored.template.resourceCountIs("AWS::DynamoDB::Table", 0);
    expect(restored.findings).toEqual([]);
    restored.template.hasOutput("TableName", { Value: "restored" });
    restored.template.allResourcesProperties("AWS::Lambda::Function", {
      Environment: { Variables: Match.objectLike({ TABLE_NAME: "restored" }) },
    });
    const tables = JSON.stringify(restored.template.findResources("AWS::IAM::Role")).match(/:table\/[^"]*/g);
    expect(new Set(tables)).toEqual(new Set([":table/restored"]));
    restored.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      MetricName: "WriteThrottleEvents",
      Dimensions: [{ Name: "TableName", Value: "restored" }],
    });
  });

  it("does not keep its state machine, which has no data", () => {
    production().template.hasResource("AWS::StepFunctions::StateMachine", { DeletionPolicy: "Delete" });
  });

  it("keeps logs for a year, and records access to each file", () => {
    production().template.allResourcesProperties("AWS::Logs::LogGroup", { RetentionInDays: 365 });
    production().template.hasResourceProperties("AWS::S3::Bucket", {
      LoggingConfiguration: { LogFilePrefix: "files/" },
    });
  });
});

describe("a sandbox", () => {
  it("leaves nothing behind, not even its files", () => {
    expect([sandbox().terminationProtection, kept(sandbox()), kept(onEmulator())]).toEqual([false, [], []]);
    sandbox().template.hasResourceProperties("AWS::DynamoDB::Table", { DeletionProtectionEnabled: false });
    sandbox().template.resourceCountIs("Custom::S3AutoDeleteObjects", 1);
    sandbox().template.hasResourceProperties("AWS::Lambda::Function", {
      LoggingConfig: { LogGroup: { Ref: Match.stringLikeRegexp("^CustomS3AutoDeleteObjects") } },
    });
  });

  it("keeps logs for a week, and has a lower request limit", () => {
    sandbox().template.allResourcesProperties("AWS::Logs::LogGroup", { RetentionInDays: 7 });
    sandbox().template.hasResourceProperties("AWS::ApiGateway::Stage", {
      MethodSettings: [Match.objectLike({ ThrottlingRateLimit: 100, ThrottlingBurstLimit: 200 })],
    });
  });

  it("on an emulator has the emulator's address and no function that empties the bucket", () => {
    onEmulator().template.resourceCountIs("Custom::S3AutoDeleteObjects", 0);
    onEmulator().template.hasOutput("BaseUrl", {
      Value: { "Fn::Join": ["", Match.arrayWith(["http://127.0.0.1:4566/restapis/"])] },
    });
    onEmulator().template.allResourcesProperties("AWS::Lambda::Function", { Architectures: ["x86_64"] });
  });
});

describe("the region's role for API Gateway's logs", () => {
  it("belongs to production, and is kept when the stack is deleted", () => {
    production().template.hasResource("AWS::ApiGateway::Account", { DeletionPolicy: "RetainExceptOnCreate" });
    production().template.hasResource("AWS::IAM::Role", {
      DeletionPolicy: "RetainExceptOnCreate",
      Properties: { AssumeRolePolicyDocument: { Statement: [apiGateway] } },
    });
  });

  it("belongs to a sandbox only if that is the first stack in its region, and is then kept too", () => {
    sandbox().template.resourceCountIs("AWS::ApiGateway::Account", 0);
    expect(kept(anna())).toEqual(["AWS::ApiGateway::Account", "AWS::IAM::Role"]);
  });
});

const apiGateway = Match.objectLike({ Principal: { Service: "apigateway.amazonaws.com" } });

describe("the stage", () => {
  it("has no default", () => {
    expect(() => synthesize({})).toThrow("Choose a stage: -c stage=production or -c stage=sandbox.");
    expect(() => synthesize({ carrierUrl: "https://carrier.example" })).toThrow("Choose a stage");
  });

  it("must have a file", () => {
    expect(() => synthesize({ stage: "staging" })).toThrow("The stages in infra/aws/stages are production and sandbox");
  });

  it("names the stack, together with the name that the context may give", () => {
    expect([production, sandbox, anna].map((stack) => stack().stackName)).toEqual([
      "Patchbay-production",
      "Patchbay-sandbox",
      "Patchbay-sandbox-anna",
    ]);
    anna().template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      AlarmName: "Patchbay-sandbox-anna-ServerErrors",
    });
    anna().template.hasResourceProperties("AWS::CloudWatch::Dashboard", { DashboardName: "Patchbay-sandbox-anna" });
  });
});

describe("production's carrier", () => {
  it.each([{}, { carrierUrl: "" }, { carrierUrl: "http://carrier.example" }])(
    "must have an https: URL: %o",
    (given) => {
      expect(() => synthesize({ stage: "production", ...given })).toThrow(
        "production needs an https: URL for the carrier",
      );
    },
  );
});

describe("a setting", () => {
  it.each([
    { carrierUrl: "carrier" },
    { alarmEmail: "nobody" },
    { architecture: "mips" },
    { throttleRate: "many" },
    { webAclArn: "acl" },
    { name: "with space" },
  ])("with an invalid value is refused: %o", (context) => {
    expect(() => synthesize({ ...https, ...context })).toThrow();
  });

  it("in the context overrides the stage's file", () => {
    anna().template.hasResourceProperties("AWS::ApiGateway::Stage", {
      MethodSettings: [Match.objectLike({ ThrottlingRateLimit: 7, ThrottlingBurstLimit: 200 })],
    });
    anna().template.allResourcesProperties("AWS::Logs::LogGroup", { RetentionInDays: 30 });
  });
});

describe("a deployment", () => {
  const recordOf = (context: Record<string, string>) => settingsIn(context).record;
  const deployed = recordOf(given);
  const dropped = (context: Record<string, string>) => droppedSettings(deployed, recordOf(context));

  it("records its settings in its template", () => {
    expect(fromTemplate(creating().template.toJSON())).toEqual(deployed);
  });

  it("that would drop an earlier -c setting is refused, and the setting is named", () => {
    const other = { stage: "production", carrierUrl: "https://other.example" };
    expect(dropped(other)).toEqual(["alarmEmail", "webAclArn"]);
    expect(dropped({ ...other, alarmEmail: "b@example.com" })).toEqual(["webAclArn"]);
    expect(explainDropped("production", deployed, ["webAclArn"])).toContain("  webAclArn = arn:aws:wafv2:acl\n");
  });

  it("may drop an earlier setting that the given settings clear explicitly", () => {
    expect(dropped({ ...https, alarmEmail: "", webAclArn: "" })).toEqual([]);
  });

  it("is allowed with a changed file, but not with a file that lost a setting", () => {
    const values = { throttleRate: 500, alarmEmail: "a@example.com" };
    const before = { retainData: true, overridden: [], values };
    expect(droppedSettings(before, { ...before, values: { ...values, throttleRate: 9, alarmEmail: null } })).toEqual(
      [],
    );
    expect(droppedSettings(before, { ...before, values: { throttleRate: 500 } })).toEqual(["alarmEmail"]);
  });

  it("is allowed if an earlier -c setting is now in the file with the same value, also if that is a list", () => {
    const values = () => ({ alarmEmail: "a@example.com", uploadOrigins: origins.split(",") });
    const before = { overridden: Object.keys(values()), values: values() };
    expect(droppedSettings(before, { overridden: [], values: values() })).toEqual([]);
    expect(droppedSettings(before, { overridden: [], values: { ...values(), uploadOrigins: [] } })).toEqual([
      "uploadOrigins",
    ]);
  });

  it("is allowed if the deployed template shows no settings", () => {
    expect(settingsOf({ Resources: {} })).toEqual({ values: {}, overridden: [] });
  });
});
