import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { AwsSolutionsChecks } from "cdk-nag";
import { functionNames } from "../../../infra/aws/bundle.ts";
import { readSettings } from "../../../infra/aws/settings.ts";
import { patchbay } from "../../../infra/aws/stack.ts";
import { entryPointOf } from "../../../infra/entry-points.ts";

const { context: flags } = JSON.parse(readFileSync(join(import.meta.dirname, "../../../cdk.json"), "utf8"));

/** Findings would fail the synthesis, but here a test reports them. */
const reportOnly = { "@aws-cdk/core:failSynthOnValidationErrors": false };

type Violation = {
  readonly ruleName: string;
  readonly violatingConstructs: readonly { readonly constructPath: string }[];
};
type Report = { readonly pluginReports: readonly { readonly violations: readonly Violation[] }[] };

/** What to synthesize: a stage by its file's name, with some of its settings changed, and what `-c` and the environment choose. */
type Choice = {
  readonly stage: "production" | "sandbox";
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly emulator?: string;
  /** Whether to look for findings of cdk-nag, which takes as long as the rest. */
  readonly nag?: boolean;
};

/** The stacks that tests look at: few, because each takes a second. */
const choices = {
  /** With all that production may have. */
  production: {
    stage: "production",
    settings: {
      carrierUrl: "https://carrier.example",
      alarmEmail: "operators@example.com",
      webAclArn: "arn:aws:wafv2:us-east-1:111122223333:regional/webacl/1",
      domainName: "api.example.com",
      certificateArn: "arn:aws:acm:us-east-1:111122223333:certificate/1",
      backupRegion: "eu-west-1",
      malwareScan: true,
      tags: { Team: "messaging" },
    },
    nag: true,
  },
  /** With as little as production may have, a table from a backup, and a function for a carrier. */
  frugal: {
    stage: "production",
    settings: {
      carrierFunction: "adapter",
      restoredTable: "restored",
      throttleRate: 0,
      accessLogs: false,
      tracing: false,
      logLevel: "ERROR",
    },
    nag: true,
  },
  sandbox: { stage: "sandbox", nag: true },
  /** A sandbox with settings of its own. */
  anna: {
    stage: "sandbox",
    name: "anna",
    settings: {
      carrierUrl: null,
      carrierFunction: "arn:aws:lambda:us-east-1:111122223333:function:adapter:live",
      restoredTable: "restored",
      restoredTableStream: "arn:aws:dynamodb:eu-central-1:123456789012:table/restored/stream/2026-11-22T00:00:00.000",
      uploadOrigins: ["https://app.example", "http://localhost:5173"],
      maxFileBytes: 1_234_567,
      maxUploadBytes: 1000,
      throttleRate: 7,
      requestsPerKey: 3_000,
      requestsPerAddress: 10,
      logRetentionDays: 30,
      apiLogsRole: "existing",
    },
  },
  emulated: { stage: "sandbox", settings: { malwareScan: true }, emulator: "http://127.0.0.1:4566" },
} as const satisfies Record<string, Choice>;

/** Every process of a run has the same folder of temporary files. */
const shared = join(tmpdir(), "synthesized");

/** The stack that `cdk synth` creates, synthesized once for all tests. The functions' code is empty, which the template does not show. */
export const synthesize = (name: keyof typeof choices) => {
  const file = join(shared, `${name}.json`);
  if (!existsSync(file)) {
    mkdirSync(shared, { recursive: true });
    const folder = mkdtempSync(join(shared, "synth-"));
    writeFileSync(join(folder, "stack.json"), JSON.stringify(synthesizeIn(folder, choices[name])));
    // At once, since another process may read it.
    renameSync(join(folder, "stack.json"), file);
  }
  const { template, ...stack }: ReturnType<typeof synthesizeIn> = JSON.parse(readFileSync(file, "utf8"));
  return { ...stack, template: Template.fromJSON(template) };
};

/** The names of the functions that have these properties, sorted. */
export const functionsWith = (template: Template, Properties: object = {}): string[] =>
  Object.values(template.findResources("AWS::Lambda::Function", { Properties }))
    .map((found) => String(found.Properties.Description))
    .sort();

const stages = join(import.meta.dirname, "../../../infra/aws/stages");

const synthesizeIn = (folder: string, { stage, settings, name, emulator, nag }: Choice) => {
  const own = JSON.parse(readFileSync(join(stages, `${stage}.json`), "utf8"));
  const file = join(folder, `${stage}.json`);
  writeFileSync(file, JSON.stringify({ ...own, ...settings }));
  for (const { file } of functionNames.map(entryPointOf)) {
    mkdirSync(join(folder, "bundles", file), { recursive: true });
    writeFileSync(join(folder, "bundles", file, "index.mjs"), `// ${file}`);
  }
  // CDK's own validation takes seconds, and `npm run synth` runs it. The deployer's limit must not matter.
  const environment = { CDK_VALIDATION: "false", MAX_FILE_BYTES: "1" };
  Object.assign(process.env, environment);
  const app = new App({ context: { ...flags, ...reportOnly }, outdir: join(folder, "out"), treeMetadata: false });
  if (nag) Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const { stackName, artifactId, terminationProtection } = patchbay(
    app,
    readSettings({ ...flags, stage: file, ...(name && { name }) }, emulator),
    join(folder, "bundles"),
  );
  const { template, messages } = app.synth().getStackArtifact(artifactId);
  for (const name of Object.keys(environment)) delete process.env[name];
  const warnings = messages.filter(({ level }) => level === "warning").map(({ entry }) => String(entry.data));
  return { stackName, template, warnings, findings: nag ? findingsIn(join(folder, "out")) : [], terminationProtection };
};

/** The findings of cdk-nag that are not accepted, as "rule construct". */
const findingsIn = (assembly: string): string[] => {
  const report: Report = JSON.parse(readFileSync(join(assembly, "validation-report.json"), "utf8"));
  return report.pluginReports.flatMap(({ violations }) =>
    violations.flatMap(({ ruleName, violatingConstructs }) =>
      violatingConstructs.map(({ constructPath }) => `${ruleName} ${constructPath}`),
    ),
  );
};
