import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { workflow } from "../../functions/checkout/workflow.ts";
import { bundle } from "./bundle.ts";
import { functionNames } from "./inventory.ts";
import { patchbay } from "./stack.ts";

const bundles = join(import.meta.dirname, "../../.patchbay/bundles");
await bundle(functionNames, bundles).catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});

const app = new App();
Validations.of(app).addPlugins(new AwsSolutionsChecks(app, { verbose: true }));
patchbay(app, bundles);
writeFileSync(join(app.outdir, "checkout.asl.json"), `${JSON.stringify(workflow, null, 2)}\n`);
app.synth();
