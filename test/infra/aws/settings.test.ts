import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSettings } from "../../../infra/aws/settings.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";

const carrierUrl = "https://carrier.example";
const choices =
  "Choose -c stage=localstack, -c stage=ministack, -c stage=production, -c stage=sandbox or -c stage=<path of a JSON file>.";

it.each([
  [{ stage: "" }, `There is no stage . ${choices}`],
  [{ stage: "staging" }, `There is no stage staging. ${choices}`],
  [{ stage: "sandbox", name: "with space" }, /^-c chooses only .+: name: .+$/],
  [{ stage: "sandbox", carrierUrl }, /^-c chooses only .+: Unrecognized key: "carrierUrl"$/],
])("the context must choose a stage and may choose a name, and nothing else: %o", (context, message) => {
  expect(() => readSettings({ "@aws-cdk/core:flag": true, "cli-telemetry": false, ...context }, undefined)).toThrow(
    message,
  );
});

it("without a choice, the stage is the sandbox; production must be named, and must have a carrier", () => {
  expect(readSettings({}, undefined)).toEqual(readSettings({ stage: "sandbox" }, undefined));
  expect(readSettings({}, undefined).stackName).toBe("Patchbay-sandbox");
  const refusal = /production\.json: carrierUrl: must be an https: URL, because this stage retains its data$/;
  expect(() => readSettings({ stage: "production" }, undefined)).toThrow(refusal);
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

  it("must not give the stack a name that is too long for its state machine", () => {
    const file = join(folder, `${"x".repeat(60)}.json`);
    writeFileSync(file, "{}");
    expect(readSettings({ stage: file, name: "y" }, undefined).stackName).toHaveLength(71);
    expect(() => readSettings({ stage: file, name: "yy" }, undefined)).toThrow(
      /^The stack's name has 72 characters, and may have 71: Patchbay-x+-yy\.$/,
    );
  });

  it("for an emulator lacks what emulators do not support", () => {
    const file = join(folder, "all.json");
    const production = {
      retainData: true,
      carrierUrl,
      carrierName: "carrier",
      rollout: "canary",
      malwareScan: true,
      requestsPerKey: 30_000,
      account: "111122223333",
      region: "eu-central-1",
    };
    writeFileSync(file, JSON.stringify(production));
    expect(readSettings({ stage: file }, "http://127.0.0.1:4566")).toMatchObject({
      rollout: "all-at-once",
      malwareScan: false,
      requestsPerKey: null,
      account: null,
      region: null,
      emptyBucket: false,
    });
  });

  it.each<[settings: object | string, message: RegExp]>([
    ['{\n  "throttleRate": many\n}\n', /stage_1\.json: SyntaxError: .*JSON/],
    [{ carierUrl: carrierUrl }, /stage_1\.json: Unrecognized key: "carierUrl"$/],
    [{ carrierUrl: "carrier", throttleRate: "7" }, /stage_1\.json: carrierUrl: .+; throttleRate: .+$/],
    [{ carrierUrl: "https://carrier.example/?tenant=1" }, /carrierUrl: must have no query and no fragment, because/],
    [{ carrierUrl: "https://carrier.example/#/api" }, /carrierUrl: must have no query/],
    [{ carrierUrl, carrierFunction: "f" }, /carrierFunction: must be null, because/],
    [{ carrierFunction: "not a function" }, /carrierFunction: must be the name or the ARN of a function/],
    [{ carrierUrl }, /stage_1\.json: carrierName: must name the carrier, because this stage has one$/],
    ...["", " ", "x".repeat(65)].map((carrierName): [object, RegExp] => [
      { carrierUrl, carrierName },
      /stage_1\.json: carrierName: must be a name of 1 to 64 characters$/,
    ]),
    [{ retainData: true }, /carrierUrl: must be an https: URL, because/],
    [{ retainData: true, carrierUrl: "http://carrier.example" }, /carrierUrl: must be an https: URL, because/],
    [{ webAclArn: "arn:1", requestsPerKey: 10 }, /webAclArn: must be null, because/],
    [{ webAclArn: "arn:1", requestsInTotal: 10 }, /webAclArn: must be null, because/],
    [{ domainName: "api.example.com" }, /certificateArn: must be set together with domainName$/],
    [{ domainName: "https://api.example.com", certificateArn: "arn:1" }, /domainName/],
    [{ tags: { Team: 1 } }, /tags: Team/],
    [{ uploadOrigins: ["*"] }, /uploadOrigins: 0: must be an origin/],
    [{ uploadOrigins: ["https://app.example/path"] }, /must be an origin/],
    [{ uploadOrigins: ["https://*.example"] }, /must be an origin/],
    ...Object.entries({
      account: "1234",
      region: "Europe",
      retainData: "yes",
      pageEmail: "nobody",
      ticketEmail: "nobody",
      architecture: "mips",
      webAclArn: "acl",
      throttleRate: -1,
      requestsPerAddress: 9,
      rollout: "blue-green",
      logLevel: "info",
      logRetentionDays: 8,
      maxFileBytes: 4_600_001,
      maxUploadBytes: 1.5,
    }).map(([name, value]) => [{ [name]: value }, new RegExp(name)] satisfies [object, RegExp]),
  ])("with an unknown or invalid setting is refused in one line: %j", (settings, message) => {
    expect(() => read(settings)).toThrow(message);
    expect(() => read(settings)).not.toThrow(/\n/);
  });
});
