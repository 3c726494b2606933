import { createServer } from "node:http";
import { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Context } from "../../../infra/aws/cdk.ts";
import { settingsOf, toMetadata } from "../../../infra/aws/deployed-settings.ts";
import { deployStack } from "../../../infra/aws/deployment.ts";
import { listen } from "../../../infra/local/listen.ts";
import { settingsIn } from "../../support/models/template.ts";
import { cloudFormation, type Stack } from "../../support/servers/cloudformation.ts";

const stacks = new Map<string, Stack>();
const cloud = cloudFormation(stacks);

/** The region's role for the logs of API Gateway, or none. */
let logsRole: string | undefined;
/** A stand-in for API Gateway's GetAccount. */
const apiGateway = createServer((_, response) => response.end(JSON.stringify({ cloudwatchRoleArn: logsRole })));

beforeAll(async () => {
  vi.stubEnv("AWS_ENDPOINT_URL_CLOUDFORMATION", (await listen(cloud)).url);
  vi.stubEnv("AWS_ENDPOINT_URL_API_GATEWAY", (await listen(apiGateway)).url);
});
afterAll(() => {
  vi.unstubAllEnvs();
  for (const server of [cloud, apiGateway]) {
    server.closeAllConnections();
    server.close();
  }
});
beforeEach(() => {
  stacks.clear();
  logsRole = "arn:aws:iam::000000000000:role/logs";
});

/** Deploys as the command does, but CDK only stores the template's metadata. Returns the context of each deployment. */
const deploy = async ({ stage, ...rest }: Context & { readonly stage: string }) => {
  const deployments: Context[] = [];
  let synthesized: Context = {};
  const settings = () => settingsIn(synthesized);
  await deployStack(
    new CloudFormationClient(),
    stage,
    { stage, ...rest },
    {
      synthesize: (context) => {
        synthesized = context;
        return settings();
      },
      deploy: () => {
        const { stackName, record } = settings();
        stacks.set(stackName, { status: "CREATE_COMPLETE", template: { Metadata: toMetadata(record) } });
        deployments.push(synthesized);
      },
    },
  );
  return deployments;
};

const production = { stage: "production", carrierUrl: "https://carrier.example" };
const webAclArn = "arn:aws:wafv2:us-east-1:000000000000:regional/webacl/ours/1";

describe("the first deployment", () => {
  it("of production creates the table without protection, then protects it", async () => {
    expect(await deploy(production)).toEqual([{ ...production, protectTable: "false" }, production]);
    expect(await deploy(production)).toMatchObject([production]);
  });

  it("of production has two steps also after a failed one", async () => {
    stacks.set("Patchbay-production", { status: "ROLLBACK_COMPLETE", template: {} });
    expect(await deploy(production)).toHaveLength(2);
  });

  it("of a sandbox has one step", async () => {
    expect(await deploy({ stage: "sandbox", name: "anna" })).toEqual([{ stage: "sandbox", name: "anna" }]);
    expect([...stacks.keys()]).toEqual(["Patchbay-sandbox-anna"]);
  });
});

describe("a later deployment", () => {
  it("that would drop a setting of the deployed stack deploys nothing and names the setting", async () => {
    await deploy({ ...production, webAclArn });
    const before = stacks.get("Patchbay-production");
    await expect(deploy(production)).rejects.toThrow(
      `would drop settings of the deployed stack:\n  webAclArn = ${webAclArn}\n`,
    );
    expect(stacks.get("Patchbay-production")).toBe(before);
    expect(await deploy({ ...production, webAclArn })).toHaveLength(1);
    expect(await deploy({ ...production, webAclArn: "" })).toHaveLength(1);
  });

  it("finds the settings of a stack that recorded none in its resources", async () => {
    const resources = {
      Acl: { Type: "AWS::WAFv2::WebACLAssociation", Properties: { WebACLArn: webAclArn, ResourceArn: {} } },
      Mail: { Type: "AWS::SNS::Subscription", Properties: { Protocol: "email", Endpoint: "operators@example.com" } },
      Forward: {
        Type: "AWS::Lambda::Function",
        Properties: { Architectures: ["x86_64"], Environment: { Variables: { CARRIER_URL: "https://old.example" } } },
      },
      Account: { Type: "AWS::ApiGateway::Account", Properties: {} },
    };
    stacks.set("Patchbay-sandbox", { status: "UPDATE_COMPLETE", template: { Resources: resources } });
    const error = await deploy({ stage: "sandbox" }).catch(({ message }: Error) => message);
    expect(error).toMatch(
      /\n {2}carrierUrl = https:\/\/old\.example\n {2}alarmEmail = operators@example\.com\n {2}webAclArn = arn:\S+\n {2}architecture = x86_64\nTo keep/,
    );
    const all = { carrierUrl: "https://old.example", alarmEmail: "", webAclArn: "", architecture: "arm64" };
    expect(await deploy({ stage: "sandbox", ...all })).toMatchObject([{ apiLogsRole: "own" }]);
  });

  it("ignores the placeholder for a carrier in such a stack", () => {
    const Properties = { Environment: { Variables: { CARRIER_URL: "https://carrier.invalid" } } };
    const Resources = { Forward: { Type: "AWS::Lambda::Function", Properties } };
    expect(settingsOf({ Resources })).toEqual({ values: {}, overridden: [] });
  });
});

describe("the role with which API Gateway writes its logs", () => {
  it("is created by a sandbox only if the region has none, and then stays in that sandbox", async () => {
    logsRole = undefined;
    expect(await deploy({ stage: "sandbox" })).toMatchObject([{ apiLogsRole: "own" }]);
    logsRole = "arn:aws:iam::000000000000:role/of-the-sandbox";
    expect(await deploy({ stage: "sandbox" })).toMatchObject([{ apiLogsRole: "own" }]);
    expect(await deploy({ stage: "sandbox", name: "anna" })).toEqual([{ stage: "sandbox", name: "anna" }]);
  });
});
