import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { allFunctions } from "../../../infra/aws/bundle.ts";
import { readSettings } from "../../../infra/aws/settings.ts";
import { patchbay } from "../../../infra/aws/stack.ts";
import { describe, type PlainObject, type Template } from "./description.ts";

const root = join(import.meta.dirname, "../../..");
const { context: flags } = JSON.parse(readFileSync(join(root, "cdk.json"), "utf8"));

/** Keeps the paths of resources, which description.ts uses as names. Findings do not fail the synthesis, since a test reports them. */
const context = {
  ...flags,
  "aws:cdk:enable-path-metadata": true,
  "@aws-cdk/core:failSynthOnValidationErrors": false,
};

/** The file name of a stage, changes of its settings, and possibly a name. */
type Choice = {
  readonly stage: "production" | "sandbox";
  readonly settings?: PlainObject;
  readonly name?: string;
};

const choices = {
  production: { stage: "production", settings: { carrierUrl: "https://carrier.example", carrierName: "carrier" } },
  "a sandbox": { stage: "sandbox", name: "anna" },
  "production with all that it may have": {
    stage: "production",
    settings: {
      carrierUrl: "https://carrier.example",
      carrierName: "carrier",
      pageEmail: "operators@example.com",
      ticketEmail: "office@example.com",
      ...{ requestsPerKey: null, requestsPerAddress: null, requestsInTotal: null },
      webAclArn: "arn:aws:wafv2:us-east-1:111122223333:regional/webacl/1",
      domainName: "api.example.com",
      certificateArn: "arn:aws:acm:us-east-1:111122223333:certificate/1",
      carrierConcurrency: 100,
      malwareScan: true,
      uploadOrigins: ["https://app.example", "http://localhost:5173"],
      tags: { Team: "messaging" },
    },
  },
  "production with the other choice of each setting, in maintenance": {
    stage: "production",
    settings: {
      rollout: "all-at-once",
      throttleRate: 0,
      carrierFunction: "adapter",
      carrierName: "carrier",
      restoredTable: "restored",
      requestsPerKey: 3_000,
      maxReadUnits: null,
      maxWriteUnits: null,
      malwareScan: "tag",
      eventArchiveDays: null,
      maxFileBytes: 1_234_567,
      maxUploadBytes: 1000,
      throttleBurst: 7,
      logRetentionDays: 30,
      logLevel: "ERROR",
      accessLogs: false,
      tracing: false,
      architecture: "x86_64",
      apiLogsRole: "existing",
      orderingConditions: false,
    },
  },
} as const satisfies Record<string, Choice>;

type StageName = keyof typeof choices;
type Report = {
  readonly pluginReports: readonly {
    readonly violations: readonly {
      readonly ruleName: string;
      readonly violatingConstructs: readonly { readonly constructPath: string }[];
    }[];
  }[];
};

const synthesizeIn = (folder: string, choice: Choice) => {
  const { stage, settings: changed, name } = choice;
  const own = JSON.parse(readFileSync(join(root, `infra/aws/stages/${stage}.json`), "utf8"));
  const file = join(folder, `${stage}.json`);
  writeFileSync(file, JSON.stringify({ ...own, ...changed }));
  // The functions' code is empty, because the template does not contain it.
  for (const { file } of allFunctions) {
    mkdirSync(join(folder, "bundles", file), { recursive: true });
    writeFileSync(join(folder, "bundles", file, "index.mjs"), `// ${file}`);
  }
  // CDK's own validation takes seconds, and `./patchbay synth` runs it.
  process.env.CDK_VALIDATION = "false";
  const app = new App({ context, outdir: join(folder, "out"), treeMetadata: false });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const settings = readSettings({ stage: file, ...(name && { name }) }, undefined);
  const { stackName, artifactId, terminationProtection = false } = patchbay(app, settings, join(folder, "bundles"));
  const artifact = app.synth().getStackArtifact(artifactId);
  delete process.env.CDK_VALIDATION;
  const template: Template = artifact.template;
  const { stageName, tags } = settings;
  const report: Report = JSON.parse(readFileSync(join(folder, "out/validation-report.json"), "utf8"));
  rmSync(folder, { recursive: true });
  return {
    choice,
    settings,
    template,
    resources: describe(template, {
      stackName,
      tags: { Application: "Patchbay", Stage: stageName, ...tags },
    }),
    terminationProtection,
    environment: artifact.environment,
    warnings: artifact.messages.filter(({ level }) => level === "warning").map(({ entry }) => String(entry.data)),
    /** The findings of cdk-nag that are not suppressed. */
    findings: report.pluginReports.flatMap(({ violations }) =>
      violations.flatMap(({ ruleName, violatingConstructs }) =>
        violatingConstructs.map(({ constructPath }) => `${ruleName} ${constructPath}`),
      ),
    ),
  };
};

const synthesized = new Map<StageName, ReturnType<typeof synthesizeIn>>();

/** The stack of production with other values of these settings. */
export const synthesizeWith = (settings: PlainObject) =>
  synthesizeIn(mkdtempSync(join(tmpdir(), "patchbay-synth-")), {
    stage: "production",
    settings: { ...choices.production.settings, ...settings },
  });

/** The stack that `cdk synth` creates. */
export const synthesize = (name: StageName): ReturnType<typeof synthesizeIn> => {
  const stack = synthesized.get(name) ?? synthesizeIn(mkdtempSync(join(tmpdir(), "patchbay-synth-")), choices[name]);
  synthesized.set(name, stack);
  return stack;
};

export const otherStages = [
  "a sandbox",
  "production with all that it may have",
  "production with the other choice of each setting, in maintenance",
] as const;
