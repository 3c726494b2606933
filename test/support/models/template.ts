import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { AwsSolutionsChecks } from "cdk-nag";
import { RootConstruct } from "constructs";
import * as z from "zod/mini";
import { functionNames } from "../../../infra/aws/inventory.ts";
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

/** The required settings of production, and an optional one. */
const production = {
  stage: "production",
  carrierUrl: "https://carrier.example",
  alarmEmail: "operators@example.com",
};

/** A stack on an emulator. */
export const emulated = { stage: "sandbox", emulator: "http://127.0.0.1:4566", architecture: "x86_64" };

const synthesized = new Map<string, ReturnType<typeof synthesizeIn>>();

/**
 * The stack that `cdk synth` creates with this context, by default production's, synthesized once per process. The functions'
 * code is empty, which the template does not show. cdk-nag takes as long as the rest, so it runs on request only.
 */
export const synthesize = (context: Readonly<Record<string, string>> = production, { nag = false } = {}) => {
  const name = JSON.stringify(context);
  const known = synthesized.get(name);
  if (known && (known.findings || !nag)) return known;
  const folder = mkdtempSync(join(tmpdir(), "patchbay-synth-"));
  try {
    const result = synthesizeIn(folder, context, nag);
    synthesized.set(name, result);
    return result;
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const synthesizeIn = (folder: string, context: Readonly<Record<string, string>>, nag: boolean) => {
  for (const name of functionNames) {
    mkdirSync(join(folder, "bundles", name), { recursive: true });
    writeFileSync(join(folder, "bundles", name, "index.mjs"), `// ${name}`);
  }
  const app = new App({ context: { ...flags, ...reportOnly, ...context }, outdir: join(folder, "out") });
  if (nag) Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const stack = patchbay(app, join(folder, "bundles"));
  const template = Template.fromStack(stack);
  return {
    template,
    stackName: stack.stackName,
    findings: nag ? findingsIn(join(folder, "out")) : undefined,
    terminationProtection: stack.terminationProtection,
  };
};

/** The settings in this context. They are read without an App, which would create a temporary folder and leave it behind. */
export const settingsIn = (context: Readonly<Record<string, string>>) => {
  const { node } = new RootConstruct();
  for (const [name, value] of Object.entries(context)) node.setContext(name, value);
  return readSettings(node);
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
