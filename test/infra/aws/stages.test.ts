import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { functionNames } from "../../../infra/aws/bundle.ts";
import { readSettings } from "../../../infra/aws/settings.ts";
import { routes } from "../../../shared/routes.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { functionsWith, synthesize } from "../../support/models/template.ts";

const carrierUrl = "https://carrier.example";
const production = synthesize("production");
const frugal = synthesize("frugal");
const sandbox = synthesize("sandbox");
const anna = synthesize("anna");
const emulated = synthesize("emulated");

describe("direct uploads", () => {
  it("are allowed from the origins that a stage names, and from no other: only PUT, with the signed headers", () => {
    const cors = {
      AllowedHeaders: ["content-type", "if-none-match", "x-amz-checksum-sha256"],
      AllowedMethods: ["PUT"],
      AllowedOrigins: ["https://app.example", "http://localhost:5173"],
      MaxAge: 3600,
    };
    anna.template.hasResourceProperties("AWS::S3::Bucket", { CorsConfiguration: { CorsRules: [cors] } });
    for (const { template } of [production, sandbox])
      template.allResourcesProperties("AWS::S3::Bucket", { CorsConfiguration: Match.absent() });
  });

  it("have the limit that a stage sets, only in the functions that prepare them", () => {
    const limited = functionsWith(anna.template, { Environment: { Variables: { MAX_UPLOAD_BYTES: "1000" } } });
    expect(limited).toEqual(["order-attachments/create-upload", "request-attachments/create-upload"]);
  });
});

/** What cdk-nag does not ask for. It asks for backups to any point in time, rotated keys, TLS and no public access. */
it.each([
  ["production", production],
  ["sandbox", sandbox],
])("%s has one on-demand table, a bucket and a secret, encrypted with our key", (_, { template }) => {
  template.resourceCountIs("AWS::DynamoDB::Table", 1);
  template.hasResourceProperties("AWS::DynamoDB::Table", {
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    SSESpecification: { SSEEnabled: true, SSEType: "KMS", KMSMasterKeyId: Match.anyValue() },
    TimeToLiveSpecification: { AttributeName: "expires_at", Enabled: true },
  });
  const ServerSideEncryptionByDefault = { SSEAlgorithm: "aws:kms", KMSMasterKeyID: Match.anyValue() };
  template.hasResourceProperties("AWS::S3::Bucket", {
    BucketEncryption: { ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault }] },
    VersioningConfiguration: Match.absent(),
    LifecycleConfiguration: {
      Rules: [{ AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }, Status: "Enabled" }],
    },
  });
  template.hasResourceProperties("AWS::SecretsManager::Secret", { KmsKeyId: Match.anyValue() });
});

it("no stage has a cdk-nag finding that is not accepted with a reason", () => {
  expect([production.findings, frugal.findings, sandbox.findings]).toEqual([[], [], []]);
});

type Resource = {
  readonly Type: string;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
};

const resourcesOf = ({ template }: ReturnType<typeof synthesize>) =>
  Object.entries<Resource>(template.toJSON().Resources);

/** The resources that stay when the stack is deleted. */
const retained = (stack: ReturnType<typeof synthesize>) =>
  resourcesOf(stack).filter(([, { DeletionPolicy }]) => DeletionPolicy?.startsWith("Retain"));

/** The sizes of as many groups as `count` needs: eight in each but the last. */
const groupsOfEight = (count: number) =>
  Array.from({ length: Math.ceil(count / 8) }, (_, nth) => Math.min(8, count - nth * 8));

describe("production", () => {
  it("is protected from deletion, as is its table", () => {
    expect(production.terminationProtection).toBe(true);
    production.template.hasResourceProperties("AWS::DynamoDB::Table", { DeletionProtectionEnabled: true });
  });

  it("leaves only the protected table behind if its first deployment fails", () => {
    const left = retained(production).filter(([, { DeletionPolicy }]) => DeletionPolicy === "Retain");
    expect(left.map(([, { Type }]) => Type)).toEqual(["AWS::DynamoDB::Table"]);
  });

  it("can use a table restored from a backup, with the same metrics and permissions", () => {
    frugal.template.resourceCountIs("AWS::DynamoDB::Table", 0);
    frugal.template.hasOutput("TableName", { Value: "restored" });
    frugal.template.allResourcesProperties("AWS::Lambda::Function", {
      Environment: { Variables: Match.objectLike({ TABLE_NAME: "restored" }) },
    });
    const tables = JSON.stringify(frugal.template.findResources("AWS::IAM::Role")).match(/:table\/[^"]*/g);
    expect(new Set(tables)).toEqual(new Set([":table/restored"]));
    frugal.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      MetricName: "WriteThrottleEvents",
      Dimensions: [{ Name: "TableName", Value: "restored" }],
    });
  });

  it("shifts what callers reach to new versions step by step, at most eight at once, and back if it has a defect", () => {
    const { template } = production;
    const aliases = Object.entries(template.findResources("AWS::Lambda::Alias"));
    expect(aliases).toHaveLength(functionNames.length);
    const canaries = aliases.filter(([, { UpdatePolicy }]) => UpdatePolicy);
    expect(canaries).toHaveLength(routes.length + 2);
    expect(canaries.flatMap(([id]) => (/^(?:checkout|events|sweep)/.test(id) ? [id] : []))).toEqual([]);
    const rollouts = canaries.map(
      ([, { UpdatePolicy }]) => UpdatePolicy.CodeDeployLambdaAliasUpdate.DeploymentGroupName.Ref,
    );
    const before = new Map(canaries.map(([id, { DependsOn }]) => [id, DependsOn?.[0]]));
    const waveOf = (id: string): number => (before.get(id) ? waveOf(before.get(id)) + 1 : 0);
    const waves = Object.groupBy(canaries, ([id]) => waveOf(id));
    expect(Object.values(waves).map((wave) => wave?.length)).toEqual(groupsOfEight(canaries.length));
    const groups = template.findResources("AWS::CodeDeploy::DeploymentGroup", {
      Properties: {
        DeploymentConfigName: "CodeDeployDefault.LambdaCanary10Percent5Minutes",
        AutoRollbackConfiguration: { Enabled: true, Events: Match.arrayWith(["DEPLOYMENT_STOP_ON_ALARM"]) },
      },
    });
    expect(Object.keys(groups).sort()).toEqual(rollouts.sort());
    for (const { Properties } of Object.values(groups))
      expect(Properties.AlarmConfiguration).toEqual({
        Enabled: true,
        Alarms: ["Defects", "KilledFunctions\\d"].map((name) => ({
          Name: { Ref: expect.stringMatching(`^${name}Alarm`) },
        })),
      });
  });

  it("watches every function that it shifts for ends without a response, as which it can log nothing", () => {
    const alarms = production.template.findResources("AWS::CloudWatch::Alarm", {
      Properties: { AlarmName: Match.stringLikeRegexp("-KilledFunctions\\d$"), Threshold: 3 },
    });
    const watched = Object.values(alarms).map(({ Properties: { Metrics } }) =>
      Metrics.flatMap(({ MetricStat }: { MetricStat?: { Metric: { MetricName: string } } }) => MetricStat ?? []),
    );
    expect(watched.map(({ length }) => length)).toEqual(groupsOfEight(routes.length + 2));
    for (const stat of watched.flat())
      expect(stat).toMatchObject({
        Metric: { Namespace: "AWS/Lambda", MetricName: "Errors" },
        Period: 300,
        Stat: "Sum",
      });
  });

  it("stays far below the 500 resources that CloudFormation allows", () => {
    expect(resourcesOf(production).length).toBeLessThan(450);
  });

  it("says at synth that it has no alarm address, no malware scan and no web ACL, until it has", () => {
    const without = ["restoredTableStream", "alarmEmail", "malwareScan", "webAclArn"].map(
      (name) => `${name} is not set`,
    );
    expect(frugal.warnings.map((each) => each.split(":")[0])).toEqual(without);
    expect([production.warnings, sandbox.warnings]).toEqual([[], []]);
  });

  it("copies daily backups of the table to another region, and reports those that fail", () => {
    const { template } = production;
    template.hasResourceProperties("AWS::Backup::BackupPlan", {
      BackupPlan: {
        BackupPlanRule: [
          {
            // Point-in-time recovery covers more days.
            Lifecycle: { DeleteAfterDays: 2 },
            ScheduleExpression: "cron(17 1 * * ? *)",
            CopyActions: [
              {
                Lifecycle: { DeleteAfterDays: 35 },
                DestinationBackupVaultArn: {
                  "Fn::Join": ["", Match.arrayWith([Match.stringLikeRegexp(":backup:eu-west-1:")])],
                },
              },
            ],
          },
        ],
      },
    });
    template.hasResourceProperties("AWS::Backup::BackupSelection", {
      BackupSelection: { Resources: [{ "Fn::GetAtt": [Match.stringLikeRegexp("^Table"), "Arn"] }] },
    });
    template.hasResource("AWS::Backup::BackupVault", { DeletionPolicy: "RetainExceptOnCreate" });
    template.hasResourceProperties("AWS::Events::Rule", {
      EventPattern: { source: ["aws.backup"], detail: { state: ["FAILED", "ABORTED", "EXPIRED"] } },
      Targets: [Match.objectLike({ Arn: { Ref: Match.stringLikeRegexp("^Alarms") } })],
    });
  });

  it("has a name of its own, as strict as the API's, which every client's URL and a DNS record need", () => {
    const { template } = production;
    template.hasResourceProperties("AWS::ApiGateway::DomainName", {
      DomainName: "api.example.com",
      RegionalCertificateArn: Match.stringLikeRegexp("^arn:aws:acm:"),
      EndpointConfiguration: { Types: ["REGIONAL"] },
      SecurityPolicy: "SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09",
      EndpointAccessMode: "STRICT",
    });
    template.hasResourceProperties("AWS::ApiGateway::BasePathMapping", {
      BasePath: Match.absent(),
      Stage: Match.anyValue(),
    });
    template.hasOutput("BaseUrl", { Value: "https://api.example.com" });
    template.hasOutput("DomainTarget", { Value: { "Fn::GetAtt": [Match.anyValue(), "RegionalDomainName"] } });
  });

  it("can have fewer logs and no traces", () => {
    frugal.template.allResourcesProperties("AWS::ApiGateway::Stage", {
      AccessLogSetting: Match.absent(),
      TracingEnabled: false,
    });
    frugal.template.allResourcesProperties("AWS::Lambda::Function", {
      TracingConfig: Match.absent(),
      LoggingConfig: Match.objectLike({ SystemLogLevel: "WARN", ApplicationLogLevel: "INFO" }),
      Environment: { Variables: Match.objectLike({ LOG_LEVEL: "ERROR" }) },
    });
    frugal.template.hasResourceProperties("AWS::StepFunctions::StateMachine", {
      TracingConfiguration: { Enabled: false },
    });
  });
});

it.each([
  ["a year in production", production, 365],
  ["a week in a sandbox", sandbox, 7],
  ["as long as its stage's file says", anna, 30],
])("logs are kept %s", (_, { template }, RetentionInDays) => {
  template.allResourcesProperties("AWS::Logs::LogGroup", { RetentionInDays });
});

it.each([
  ["of production", production, 500, 1000],
  ["of a sandbox", sandbox, 100, 200],
  ["of a stage's file, beside the burst of a sandbox", anna, 7, 200],
  ["of a stage in maintenance, whose burst would still be allowed", frugal, 0, 0],
])("the request limit is that %s", (_, { template }, ThrottlingRateLimit, ThrottlingBurstLimit) => {
  const MethodSettings = [Match.objectLike({ ThrottlingRateLimit, ThrottlingBurstLimit })];
  template.hasResourceProperties("AWS::ApiGateway::Stage", { MethodSettings });
});

it("a stage in maintenance runs no function, so that checkouts, events and other systems wait", () => {
  frugal.template.allResourcesProperties("AWS::Lambda::Function", { ReservedConcurrentExecutions: 0 });
});

it("every resource that can have tags has those of the application, the stage and the stage's file", () => {
  const all = resourcesOf(production).map(([, resource]) => resource);
  const tagged = all.filter(({ Properties }) => Array.isArray(Properties?.Tags));
  const types = new Set(tagged.map(({ Type }) => Type.split("::")[1]));
  expect([...types].sort()).toEqual([
    ...["ApiGateway", "CloudWatch", "CodeDeploy", "DynamoDB", "Events", "GuardDuty", "IAM", "KMS", "Lambda", "Logs"],
    ...["S3", "SNS", "SQS", "SecretsManager", "StepFunctions"],
  ]);
  for (const { Type, Properties } of tagged)
    expect(Properties?.Tags, Type).toEqual(
      expect.arrayContaining([
        { Key: "Application", Value: "Patchbay" },
        { Key: "Stage", Value: "production" },
        { Key: "Team", Value: "messaging" },
      ]),
    );
});

it("what production retains keeps its logical ids and its names: with another, CloudFormation would replace it by an empty one", () => {
  const stackId = { "Fn::Select": [2, { "Fn::Split": ["/", { Ref: "AWS::StackId" }] }] };
  const joined = (...parts: unknown[]) => ({ "Fn::Join": ["", parts] });
  const names = retained(production).flatMap(([id, { UpdateReplacePolicy, Type, Properties = {} }]) => {
    expect(UpdateReplacePolicy, id).toBe("Retain");
    const named = Object.entries(Properties).filter(([name]) => /^(?:|\w*[a-z])Name$/.test(name));
    // A log group without a name has nothing that a later version reads.
    return Type === "AWS::Logs::LogGroup" && named.length === 0 ? [] : [[id, named.map(([, value]) => value)]];
  });
  expect(Object.fromEntries(names)).toEqual({
    TableCD117FA1: [],
    Files8E6940B8: [],
    FileAccessLogs13D3DDB8: [],
    Key961B73FD: [],
    CarrierToken8A5A8756: [],
    Backups9A29A52D: [joined("Patchbay-production-", { "Fn::Select": [0, { "Fn::Split": ["-", stackId] }] })],
    CheckoutLogsCF9A0DAB: [joined("/aws/vendedlogs/states/Patchbay-production-", stackId)],
    ApiExecutionLogs66FBF5B8: [joined("API-Gateway-Execution-Logs_", { Ref: "ApiF70053CD" }, "/live")],
    ApiCloudWatchRole73EC6FC4: [],
    ApiAccountA18C9B29: [],
  });
});

describe("a sandbox", () => {
  it("leaves nothing behind but the region's role for logs, not even its files", () => {
    expect(sandbox.terminationProtection).toBe(false);
    expect(retained(sandbox).map(([, { Type }]) => Type)).toEqual(["AWS::IAM::Role", "AWS::ApiGateway::Account"]);
    sandbox.template.hasResourceProperties("AWS::DynamoDB::Table", { DeletionProtectionEnabled: false });
    sandbox.template.resourceCountIs("Custom::S3AutoDeleteObjects", 1);
    sandbox.template.hasResourceProperties("AWS::Lambda::Function", {
      LoggingConfig: { LogGroup: { Ref: Match.stringLikeRegexp("^CustomS3AutoDeleteObjects") } },
    });
  });

  it("moves all traffic to new versions at once", () => {
    sandbox.template.resourceCountIs("AWS::CodeDeploy::DeploymentGroup", 0);
    sandbox.template.resourceCountIs("AWS::Lambda::Alias", functionNames.length);
  });

  it("on an emulator has the emulator's address and no function that empties the bucket", () => {
    emulated.template.resourceCountIs("Custom::S3AutoDeleteObjects", 0);
    emulated.template.hasOutput("BaseUrl", {
      Value: { "Fn::Join": ["", Match.arrayWith(["http://127.0.0.1:4566/restapis/"])] },
    });
    const machine = process.arch === "arm64" ? "arm64" : "x86_64";
    emulated.template.allResourcesProperties("AWS::Lambda::Function", { Architectures: [machine] });
  });
});

it("the region's role for API Gateway's logs does not belong to a stage whose file says that one exists", () => {
  anna.template.resourceCountIs("AWS::ApiGateway::Account", 0);
});

it("a stack is named after its stage's file, and the name that the context may give", () => {
  expect([production, sandbox, anna].map(({ stackName }) => stackName)).toEqual([
    "Patchbay-production",
    "Patchbay-sandbox",
    "Patchbay-sandbox-anna",
  ]);
  const AlarmName = "Patchbay-sandbox-anna-ServerErrors";
  anna.template.hasResourceProperties("AWS::CloudWatch::Alarm", { AlarmName });
  anna.template.hasResourceProperties("AWS::CloudWatch::Dashboard", { DashboardName: "Patchbay-sandbox-anna" });
});

const choices = "Choose -c stage=local, -c stage=production, -c stage=sandbox or -c stage=<path of a JSON file>.";

it.each([
  [{}, choices],
  [{ stage: "staging" }, `There is no stage staging. ${choices}`],
  [{ stage: "sandbox", name: "with space" }, /^-c chooses only .+: name: .+$/],
  [{ stage: "sandbox", carrierUrl }, /^-c chooses only .+: Unrecognized key: "carrierUrl"$/],
])("the context must choose a stage and may choose a name, and nothing else: %o", (context, message) => {
  expect(() => readSettings({ "@aws-cdk/core:flag": true, "cli-telemetry": false, ...context }, undefined)).toThrow(
    message,
  );
});

describe("a stage's file", () => {
  const folder = newFolder();
  const read = (settings: object | string) => {
    const file = join(folder, "my stage_1.json");
    writeFileSync(file, typeof settings === "string" ? settings : JSON.stringify(settings));
    return readSettings({ stage: file }, undefined);
  };

  it("may be anywhere, and leave out every setting: the defaults are a sandbox's", () => {
    const defaults = readSettings({ stage: "sandbox" }, undefined);
    expect(read({})).toEqual({ ...defaults, stageName: "my stage_1", stackName: "Patchbay-my-stage-1" });
  });

  it("with backups must leave the stack a name that fits into the vault's", () => {
    const file = join(folder, "production.json");
    writeFileSync(file, JSON.stringify({ retainData: true, carrierUrl, backupRegion: "eu-west-1" }));
    const named = (length: number) => readSettings({ stage: file, name: "n".repeat(length) }, undefined).stackName;
    expect(named(21)).toHaveLength(41);
    expect(() => named(22)).toThrow(/^\S+: backupRegion: the name of the stack .+ 41 characters\.$/);
  });

  it.each<[settings: object | string, message: RegExp]>([
    ['{\n  "throttleRate": many\n}\n', /stage_1\.json: SyntaxError: .*JSON/],
    [{ carierUrl: carrierUrl }, /stage_1\.json: Unrecognized key: "carierUrl"$/],
    [{ carrierUrl: "carrier", throttleRate: "7" }, /stage_1\.json: carrierUrl: .+; throttleRate: .+$/],
    [{ carrierUrl, carrierFunction: "f" }, /carrierFunction: must be null, because/],
    [{ carrierFunction: "not a function" }, /carrierFunction: must be the name or the ARN of a function/],
    [{ retainData: true }, /carrierUrl: must be an https: URL, because/],
    [{ retainData: true, carrierUrl: "http://carrier.example" }, /carrierUrl: must be an https: URL, because/],
    [{ webAclArn: "arn:1", requestsPerKey: 10 }, /webAclArn: must be null, because/],
    [{ domainName: "api.example.com" }, /certificateArn: must be set together with domainName$/],
    [{ domainName: "https://api.example.com", certificateArn: "arn:1" }, /domainName/],
    [{ backupRegion: "eu-west-1" }, /backupRegion: needs retainData/],
    [{ tags: { Team: 1 } }, /tags: Team/],
    [{ uploadOrigins: ["*"] }, /uploadOrigins: 0: must be an origin/],
    [{ uploadOrigins: ["https://app.example/path"] }, /must be an origin/],
    [{ uploadOrigins: ["https://*.example"] }, /must be an origin/],
    ...Object.entries({
      retainData: "yes",
      alarmEmail: "nobody",
      architecture: "mips",
      webAclArn: "acl",
      throttleRate: -1,
      requestsPerAddress: 9,
      rollout: "blue-green",
      backupRegion: "Ireland",
      logLevel: "info",
      logRetentionDays: 8,
      maxFileBytes: 4_600_001,
    }).map(([name, value]) => [{ [name]: value }, new RegExp(name)] satisfies [object, RegExp]),
  ])("with an unknown or invalid setting is refused in one line: %j", (settings, message) => {
    expect(() => read(settings)).toThrow(message);
    expect(() => read(settings)).not.toThrow(/\n/);
  });
});
