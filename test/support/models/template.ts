import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { AwsSolutionsChecks } from "cdk-nag";
import * as z from "zod/mini";
import { functionNames } from "../../../infra/aws/inventory.ts";
import { patchbay } from "../../../infra/aws/stack.ts";

// CDK's own linter is seconds of WebAssembly for each process, and `npm run synth` has it.
process.env.CDK_VALIDATION = "false";

const { context: flags } = z.parse(
  z.object({ context: z.record(z.string(), z.unknown()) }),
  JSON.parse(readFileSync(join(import.meta.dirname, "../../../cdk.json"), "utf8")),
);

/** Findings make a synthesis fail, here they are for a test to tell. */
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

/** What production asks for, and what it may have. */
const production = {
  stage: "production",
  carrierUrl: "https://carrier.example",
  alarmEmail: "operators@example.com",
};

/** A stack on an emulator. */
export const emulated = { stage: "sandbox", emulator: "http://127.0.0.1:4566", architecture: "x86_64" };

const synthesized = new Map<string, ReturnType<typeof synthesizeIn>>();

/**
 * The stack as `cdk synth` makes it with this context, by default production's, made once for all files of a process. The
 * functions' code is empty, which no template shows. cdk-nag takes as long as the rest: it looks at production, and at
 * what a test of its findings asks for.
 */
export const synthesize = (
  context: Readonly<Record<string, string>> = production,
  { nag = context === production } = {},
) => {
  const name = JSON.stringify([context, nag]);
  const known = synthesized.get(name);
  if (known) return known;
  const folder = mkdtempSync(join(tmpdir(), "patchbay-synth-"));
  try {
    const made = synthesizeIn(folder, context, nag);
    synthesized.set(name, made);
    return made;
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

/** What cdk-nag found and nobody accepted, as "rule construct". */
const findingsIn = (assembly: string): string[] => {
  const report = z.parse(Report, JSON.parse(readFileSync(join(assembly, "validation-report.json"), "utf8")));
  return report.pluginReports.flatMap(({ violations }) =>
    violations.flatMap(({ ruleName, violatingConstructs }) =>
      violatingConstructs.map(({ constructPath }) => `${ruleName} ${constructPath}`),
    ),
  );
};
