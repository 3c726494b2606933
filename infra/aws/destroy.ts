import { fail, requireSeparator } from "../local/command.ts";
import { cdk, readArguments } from "./cdk.ts";
import { describeStack } from "./deployed-stack.ts";
import { forgetEndpoint, useEmulator } from "./emulator.ts";

/** `npm run destroy`: deletes a stack, from AWS or from an emulator. */

const help = `Usage: npm run destroy -- [-c stage=<stage>] [-c name=<name>] [--force] [options of cdk destroy]

Deletes a stack with its files, by default the sandbox. If AWS_ENDPOINT_URL is set, deletes a stack on that emulator, by
default that of deploy:local. A stage that retains its data is protected: see infra/runbook.md.

  --force   do not ask for confirmation`;

const destroy = async () => {
  const args = process.argv.slice(2);
  const given = readArguments(args);
  if (given.help) return console.log(help);
  requireSeparator("destroy", ["call", "context", "profile", "force"]);
  const url = process.env.AWS_ENDPOINT_URL;
  const endpoint = url && (await useEmulator(url));
  const stage = endpoint ? "local" : "sandbox";
  const { readSettings } = await import("./settings.ts");
  const { stackName } = readSettings({ stage, ...given.context }, endpoint);
  if (typeof given.profile === "string") process.env.AWS_PROFILE = given.profile;
  const stack = await describeStack(stackName).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : cause;
    const remedy = "set AWS_REGION and AWS_PROFILE, or AWS_ENDPOINT_URL for an emulator";
    throw new Error(`The stack ${stackName} cannot be looked up (${reason}): ${remedy}.`, { cause });
  });
  if (!stack) console.log(`There is no stack ${stackName} at ${endpoint ?? "AWS"}: nothing to delete.`);
  else if (!given.force && !process.stdin.isTTY)
    throw new Error(`Not a terminal: confirm with --force that ${stackName} is to be deleted.`);
  else cdk(["destroy", "-c", `stage=${stage}`, ...args]);
  forgetEndpoint(stackName);
};

await destroy().catch(fail);
