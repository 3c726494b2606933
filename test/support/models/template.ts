import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { AwsSolutionsChecks } from "cdk-nag";
import * as z from "zod/mini";
import { functionNames } from "../../../infra/aws/bundle.ts";
import { readSettings } from "../../../infra/aws/settings.ts";
import { patchbay } from "../../../infra/aws/stack.ts";

// CDK's own validation takes seconds in each process, and `npm run synth` runs it.
process.env.CDK_VALIDATION = "false";

const { context: flags } = z.parse(
  z.object({ context: z.record(z.string(), z.unknown()) }),
  JSON.parse(readFileSync(join(import.meta.dirname, "../../../cdk.json"), "utf8")),
);

/** Findings would fail the synthesis, but here a test reports them. */
const reportOnly = { "@aws-cdk/core:failSynthOnValidationErrors": false };

const Report = z.object({
  pluginReports: z.array(
    z.object({
      violations: z.array(
        z.object({ ruleName: z.string(), violatingConstructs: z.array(z.object({ constructPath: z.string() })) }),
      ),
    }),
  ),
});

/** What to synthesize: a stage by its file's name, with some of its settings changed, and what `-c` and the environment choose. */
type Choice = {
  readonly stage: "production" | "sandbox";
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly emulator?: string;
};

/** Production with its required setting and an optional one. */
const production: Choice = {
  stage: "production",
  settings: { carrierUrl: "https://carrier.example", alarmEmail: "operators@example.com" },
};

/** A stack on an emulator. */
export const emulated: Choice = { stage: "sandbox", emulator: "http://127.0.0.1:4566" };

const synthesized = new Map<string, ReturnType<typeof synthesizeIn>>();

/**
 * The stack that `cdk synth` creates with a stage's file, by default production's, synthesized once per process. The functions'
 * code is empty, which the template does not show. cdk-nag takes as long as the rest, so it runs on request only.
 */
export const synthesize = (choice = production, { nag = false } = {}) => {
  const name = JSON.stringify(choice);
  const known = synthesized.get(name);
  if (known && (known.findings || !nag)) return known;
  const folder = mkdtempSync(join(tmpdir(), "patchbay-synth-"));
  try {
    const result = synthesizeIn(folder, choice, nag);
    synthesized.set(name, result);
    return result;
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const stages = join(import.meta.dirname, "../../../infra/aws/stages");

const synthesizeIn = (folder: string, { stage, settings, name, emulator }: Choice, nag: boolean) => {
  const own = JSON.parse(readFileSync(join(stages, `${stage}.json`), "utf8"));
  const file = join(folder, `${stage}.json`);
  writeFileSync(file, JSON.stringify({ ...own, ...settings }));
  for (const name of functionNames) {
    mkdirSync(join(folder, "bundles", name), { recursive: true });
    writeFileSync(join(folder, "bundles", name, "index.mjs"), `// ${name}`);
  }
  const app = new App({ context: { ...flags, ...reportOnly }, outdir: join(folder, "out") });
  if (nag) Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const read = readSettings({ ...flags, stage: file, ...(name && { name }) }, emulator);
  const stack = patchbay(app, read, join(folder, "bundles"));
  const template = Template.fromStack(stack);
  return {
    template,
    stackName: stack.stackName,
    warnings: Annotations.fromStack(stack)
      .findWarning("*", Match.anyValue())
      .map(({ entry }) => String(entry.data)),
    findings: nag ? findingsIn(join(folder, "out")) : undefined,
    terminationProtection: stack.terminationProtection,
  };
};

/** The findings of cdk-nag that are not accepted, as "rule construct". */
const findingsIn = (assembly: string): string[] => {
  const report = z.parse(Report, JSON.parse(readFileSync(join(assembly, "validation-report.json"), "utf8")));
  return report.pluginReports.flatMap(({ violations }) =>
    violations.flatMap(({ ruleName, violatingConstructs }) =>
      violatingConstructs.map(({ constructPath }) => `${ruleName} ${constructPath}`),
    ),
  );
};
