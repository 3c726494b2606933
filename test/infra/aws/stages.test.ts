import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { synthesize } from "../../support/models/template.ts";

const production = synthesize();
const sandbox = synthesize({ stage: "sandbox" });
const emulated = synthesize({ stage: "sandbox", emulator: "http://127.0.0.1:4566", architecture: "x86_64" });
const both = [
  ["production", production],
  ["sandbox", sandbox],
] as const;

describe.each(both)("%s", (_, { template, findings }) => {
  it("has no finding of cdk-nag's that is not accepted with a reason", () => {
    expect(findings).toEqual([]);
  });

  it("has a table on demand, encrypted with our key, with point-in-time recovery and TTL", () => {
    template.resourceCountIs("AWS::DynamoDB::Table", 1);
    template.hasResourceProperties("AWS::DynamoDB::Table", {
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [
        { AttributeName: "pk", KeyType: "HASH" },
        { AttributeName: "sk", KeyType: "RANGE" },
      ],
      SSESpecification: { SSEEnabled: true, SSEType: "KMS", KMSMasterKeyId: Match.anyValue() },
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      TimeToLiveSpecification: { AttributeName: "expires_at", Enabled: true },
    });
    template.hasResourceProperties("AWS::KMS::Key", { EnableKeyRotation: true });
  });

  it("has a bucket that is private, encrypted with our key, unversioned, over TLS only, without leftovers of uploads", () => {
    template.hasResourceProperties("AWS::S3::Bucket", {
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
    template.allResourcesProperties("AWS::S3::BucketPolicy", {
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

  it("has a carrier's secret under our key", () => {
    template.hasResourceProperties("AWS::SecretsManager::Secret", { KmsKeyId: Match.anyValue() });
  });
});

/** The types of what stays when the stack goes. */
const kept = ({ template }: typeof sandbox): string[] => {
  const resources: Record<string, { Type: string; DeletionPolicy?: string }> = template.toJSON().Resources;
  const staying = Object.values(resources).filter(({ DeletionPolicy }) => DeletionPolicy?.startsWith("Retain"));
  return [...new Set(staying.map(({ Type }) => Type))].sort();
};

describe("production", () => {
  it("keeps its data whatever happens to the stack, which cannot be removed by mistake", () => {
    expect(production.terminationProtection).toBe(true);
    production.template.hasResourceProperties("AWS::DynamoDB::Table", { DeletionProtectionEnabled: true });
    expect(kept(production)).toEqual(
      expect.arrayContaining([
        "AWS::DynamoDB::Table",
        "AWS::KMS::Key",
        "AWS::Logs::LogGroup",
        "AWS::S3::Bucket",
        "AWS::SecretsManager::Secret",
      ]),
    );
  });

  it("keeps logs for a year, and logs of who touched which file", () => {
    production.template.allResourcesProperties("AWS::Logs::LogGroup", { RetentionInDays: 365 });
    production.template.hasResourceProperties("AWS::S3::Bucket", {
      LoggingConfiguration: { LogFilePrefix: "files/" },
    });
  });
});

describe("a sandbox", () => {
  it("leaves nothing behind, its files included", () => {
    expect([sandbox.terminationProtection, kept(sandbox), kept(emulated)]).toEqual([false, [], []]);
    sandbox.template.hasResourceProperties("AWS::DynamoDB::Table", { DeletionProtectionEnabled: false });
    sandbox.template.resourceCountIs("Custom::S3AutoDeleteObjects", 1);
    sandbox.template.hasResourceProperties("AWS::Lambda::Function", {
      LoggingConfig: { LogGroup: { Ref: Match.stringLikeRegexp("^CustomS3AutoDeleteObjects") } },
    });
  });

  it("keeps logs for a week, and lets fewer calls through", () => {
    sandbox.template.allResourcesProperties("AWS::Logs::LogGroup", { RetentionInDays: 7 });
    sandbox.template.hasResourceProperties("AWS::ApiGateway::Stage", {
      MethodSettings: [Match.objectLike({ ThrottlingRateLimit: 100, ThrottlingBurstLimit: 200 })],
    });
  });

  it("on an emulator has no function that empties the bucket, and the emulator's address", () => {
    emulated.template.resourceCountIs("Custom::S3AutoDeleteObjects", 0);
    emulated.template.hasOutput("BaseUrl", {
      Value: { "Fn::Join": ["", Match.arrayWith(["http://127.0.0.1:4566/restapis/"])] },
    });
    emulated.template.allResourcesProperties("AWS::Lambda::Function", { Architectures: ["x86_64"] });
  });
});

describe("a stack beside another in its region", () => {
  it("leaves the role alone by which API Gateway writes logs", () => {
    synthesize({ apiLogsRole: "existing" }).template.resourceCountIs("AWS::ApiGateway::Account", 0);
    sandbox.template.resourceCountIs("AWS::ApiGateway::Account", 1);
  });
});

describe("a context that says nonsense", () => {
  it.each([{ stage: "staging" }, { carrierUrl: "carrier" }, { alarmEmail: "nobody" }, { architecture: "mips" }])(
    "is refused: %o",
    (context) => {
      expect(() => synthesize(context)).toThrow();
    },
  );
});
