import { expect, it } from "vitest";
import type * as z from "zod/mini";
import type { Stage } from "../../../infra/aws/settings.ts";
import type { Plain, PlainObject } from "../../support/models/description.ts";
import { synthesize, synthesizeWith } from "../../support/models/template.ts";
import { exhaustive, extent, sampleOf } from "../../support/setup/extent.ts";

const certificate = (id: number) => `arn:aws:acm:us-east-1:111122223333:certificate/${id}`;
const name = { domainName: "api.example.com", certificateArn: certificate(1) };
const noLimits = { requestsPerKey: null, requestsPerAddress: null, requestsInTotal: null };
const webAclArn = "arn:aws:wafv2:us-east-1:111122223333:regional/webacl/1";

type Change = readonly [value: Plain, given?: PlainObject];

/** Another value of each setting than production's, and the settings that it requires. */
const changes: Readonly<Record<keyof z.infer<typeof Stage>, Change>> = {
  account: ["111122223333"],
  region: ["eu-central-1"],
  retainData: [false],
  carrierUrl: ["https://other.example"],
  carrierFunction: ["adapter", { carrierUrl: null, carrierFunction: "another" }],
  carrierName: ["another"],
  pageEmail: ["operators@example.com"],
  ticketEmail: ["office@example.com"],
  webAclArn: [webAclArn, noLimits],
  requestsPerKey: [10],
  requestsPerAddress: [10],
  requestsInTotal: [10],
  domainName: ["another.example.com", name],
  certificateArn: [certificate(2), name],
  rollout: ["all-at-once"],
  restoredTable: ["restored"],
  eventArchiveDays: [31],
  uploadOrigins: [["https://app.example"]],
  malwareScan: [true],
  orderingConditions: [false],
  apiLogsRole: ["existing"],
  architecture: ["x86_64"],
  throttleRate: [7],
  throttleBurst: [7],
  carrierConcurrency: [100],
  maxReadUnits: [1_000],
  maxWriteUnits: [1_000],
  logRetentionDays: [30],
  logLevel: ["ERROR"],
  accessLogs: [false],
  tracing: [false],
  tags: [{ Team: "messaging" }],
  maxFileBytes: [1_234_567],
  maxUploadBytes: [1_000],
};

/**
 * What is deployed, with names for logical ids. RELEASE is a hash of the settings, on which the logical id of the sweep's version depends,
 * so both change with any of them.
 */
const textOf = ({ resources, environment, template }: ReturnType<typeof synthesizeWith>) => {
  // The description abbreviates tags.
  const tags = Object.values(template.Resources).map(({ Properties }) => Object(Properties).Tags);
  return JSON.stringify([environment, tags, [...resources]]).replaceAll(/"RELEASE":"[^"]+"/g, "");
};

const sampled = sampleOf(Object.entries(changes), extent === "all" ? 1 : 3);

it.runIf(exhaustive).each(sampled)(
  "another value of %s changes what is deployed, and satisfies cdk-nag",
  (setting, [value, given]) => {
    const before = given ? synthesizeWith(given) : synthesize("production");
    const after = synthesizeWith({ ...given, [setting]: value });
    expect(textOf(after)).not.toBe(textOf(before));
    expect(after.findings).toEqual([]);
  },
);

it.runIf(exhaustive)(
  "a stage that retains its data, and limits only keys, is warned that nothing limits strangers",
  () => {
    const warned = ({ warnings }: ReturnType<typeof synthesizeWith>) =>
      warnings.filter((text) => text.startsWith("requests")).map((text) => text.replace(/ \[.*/, ""));
    expect(warned(synthesizeWith({ requestsPerAddress: null, requestsInTotal: null }))).toEqual([
      "requestsPerAddress is not set: a caller with made-up keys is not limited.",
      "requestsInTotal is not set: all callers together are not limited.",
    ]);
    expect(warned(synthesize("production with all that it may have"))).toEqual([]);
  },
);
