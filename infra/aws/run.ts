import { cdk, readArguments } from "./cdk.ts";

/** `npm run deploy` and `npm run synth`: cdk, whose own usage does not say what a stage is. */

const usages = new Map([
  [
    "deploy",
    `Usage: npm run deploy -- -c stage=<stage> [-c name=<name>] [options of cdk deploy]

Deploys a stage to AWS, with AWS_REGION and AWS_PROFILE, and prints the stack's outputs.

  -c stage=<stage>  a stage in infra/aws/stages, or the path of a JSON file
  -c name=<name>    a stack of its own: Patchbay-<stage>-<name>`,
  ],
  [
    "synth",
    `Usage: npm run synth -- [-c stage=<stage>] [options of cdk synth]

Writes the template of a stage, and the checkout's workflow, to cdk.out. Deploys nothing.

  -c stage=<stage>  a stage in infra/aws/stages, or the path of a JSON file (default: sandbox)`,
  ],
]);

const [command = "", ...args] = process.argv.slice(2);
if (readArguments(args).help) console.log(usages.get(command));
else cdk([command, ...args]);
