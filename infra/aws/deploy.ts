import { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { explain } from "../admin/explain.ts";
import { requireSeparator } from "../local/npm-options.ts";
import { type Context, contextOptions, deployAssembly, readArguments, synthesize } from "./cdk.ts";
import { deployStack } from "./deployment.ts";
import { emulatorEndpoint } from "./emulator.ts";
import { noStage, readStage, stackNameOf, stages } from "./stages.ts";

/** `npm run deploy`: deploys the stack to an AWS account, and stops if a deployed setting would be lost. */

const help = `Usage: npm run deploy -- -c stage=<${stages.join("|")}> [-c <setting>=<value>] [options of cdk deploy]

Deploys to the account and region of your AWS credentials (AWS_PROFILE or --profile, AWS_REGION). Bootstrap them once:
npx cdk bootstrap -c stage=sandbox. Settings are in infra/aws/stages/<stage>.json; -c overrides one for this deployment.

  -c stage=<stage>      required; there is no default stage
  -c name=<name>        a stack of its own: Patchbay-<stage>-<name>
  -c <setting>=         set it to none

If the deployment would drop a setting of the deployed stack, it stops and lists the setting.
To deploy without an AWS account: npm run deploy:local.`;

const deploy = async (stage: string, context: Context, args: readonly string[]) => {
  const stackName = stackNameOf(stage, context.name);
  const client = new CloudFormationClient({ maxAttempts: 2 });
  console.log(`Deploying ${stackName} to ${emulatorEndpoint() ?? "AWS"}, region ${await client.config.region()}.`);
  await deployStack(client, stage, context, {
    synthesize: (complete) => synthesize(complete, process.env),
    deploy: () => deployAssembly(args, process.env),
  });
  console.log(`\nNext: npm run admin -- --stack ${stackName} doctor`);
};

const main = async () => {
  const { context, profile, help: asksForHelp, rest } = readArguments(process.argv.slice(2));
  if (profile) process.env.AWS_PROFILE = profile;
  if (asksForHelp) return console.log(help);
  requireSeparator("deploy", contextOptions);
  if (!context.stage) throw new Error(`${noStage}\n\n${help}`);
  readStage(context.stage);
  return deploy(context.stage, context, rest);
};

await main().catch((error: unknown) => {
  console.error(explain(error));
  process.exitCode = 1;
});
