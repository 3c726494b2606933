import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { workflow } from "../../functions/checkout/workflow.ts";
import { fail } from "../local/command.ts";
import { allFunctions, bundle } from "./bundle.ts";
import { readSettings } from "./settings.ts";
import { patchbay } from "./stack.ts";

/** Every `cdk` command runs this file, which bundles the functions and synthesizes the stack. */

const bundles = join(import.meta.dirname, "../../.patchbay/bundles");
const app = new App();

const prepare = async () => {
  const settings = readSettings(app.node.getAllContext(), process.env.AWS_ENDPOINT_URL);
  await bundle(allFunctions, bundles);
  return settings;
};

const settings = await prepare().catch(fail);
Validations.of(app).addPlugins(new AwsSolutionsChecks(app, { verbose: true }));
patchbay(app, settings, bundles);
writeFileSync(join(app.outdir, "checkout.asl.json"), `${JSON.stringify(workflow, null, 2)}\n`);
app.synth();
