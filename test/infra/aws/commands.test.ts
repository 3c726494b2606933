import { spawn, spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished, vi } from "vitest";
import { readArguments } from "../../../infra/aws/cdk.ts";
import { listen } from "../../../infra/local/listen.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { cloudFormation } from "../../support/servers/cloudformation.ts";
import { extent } from "../../support/setup/extent.ts";

const exhaustive = extent !== "sample";
const root = join(import.meta.dirname, "../../..");

const run = (command: string, args: readonly string[], environment: Record<string, string> = {}) => {
  const env = { ...process.env, ...environment };
  return spawnSync(process.execPath, [command, ...args], { cwd: root, encoding: "utf8", env });
};

it("a command's arguments name the stage and the stack in every form that cdk accepts", () => {
  const args = ["-c", "stage=a=b", "--context", "name=anna", "--outputs-file", "out.json", "--profile", "dev", "-f"];
  expect(readArguments(args)).toMatchObject({ context: { stage: "a=b", name: "anna" }, profile: "dev", force: true });
  expect(readArguments(["-cstage=a", "--context=name=anna"]).context).toEqual({ stage: "a", name: "anna" });
});

it("cdk without a stage synthesizes nothing, and says so in one line", () => {
  const context = JSON.stringify({ "aws:cdk:version-reporting": true, stage: "staging" });
  expect(run("infra/aws/app.ts", [], { CDK_CONTEXT_JSON: context })).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^There is no stage staging\. Choose -c stage=.*\n$/),
  });
});

it.runIf(exhaustive)(
  "npm run destroy says that there is nothing to delete, and does not ask without a terminal",
  async () => {
    const { url, close } = await listen(cloudFormation("Patchbay-local-here"));
    onTestFinished(close);
    const env = { ...process.env, AWS_ENDPOINT_URL: url, PATCHBAY_STATE: newFolder() };
    // Not synchronous, since the stand-in for CloudFormation is in this process.
    const destroy = async (...args: string[]) => {
      const child = spawn(process.execPath, ["infra/aws/destroy.ts", ...args], { cwd: root, env });
      child.stdin.end();
      return Promise.all([text(child.stdout), text(child.stderr)]);
    };
    expect(await destroy("-c", "name=gone")).toEqual([
      `There is no stack Patchbay-local-gone at ${url}: nothing to delete.\n`,
      "",
    ]);
    expect(await destroy("-c", "name=here")).toEqual([
      "",
      "Not a terminal: confirm with --force that Patchbay-local-here is to be deleted.\n",
    ]);
  },
);

it.runIf(exhaustive)("npm run destroy without a region says what to set", () => {
  const nowhere = { AWS_REGION: "", AWS_PROFILE: "", AWS_ENDPOINT_URL: "", AWS_CONFIG_FILE: "/nonexistent" };
  expect(run("infra/aws/destroy.ts", ["-c", "stage=sandbox"], nowhere)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(
      /^The stack Patchbay-sandbox cannot be looked up \(.+\): set AWS_REGION and AWS_PROFILE, or .+\.\n$/,
    ),
  });
});

it("a command for an emulator prints help, and names the address that does not respond", () => {
  expect(run("infra/aws/destroy.ts", ["--help"])).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("Usage: npm run"),
  });
  expect(run("infra/aws/deploy-local.ts", [], { AWS_ENDPOINT_URL: "http://127.0.0.1:1/" })).toMatchObject({
    status: 1,
    stderr: "Nothing responds at http://127.0.0.1:1: start LocalStack or MiniStack, or set AWS_ENDPOINT_URL.\n",
  });
});

it("the record of where a stack was deployed contains the endpoint until the stack is deleted", async () => {
  const folder = newFolder();
  vi.stubEnv("PATCHBAY_STATE", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { forgetEndpoint, recordedEndpoint, recordEndpoint } = await import("../../../infra/aws/emulator.ts");
  const file = join(folder, "emulators/Patchbay-sandbox.json");
  recordEndpoint("Patchbay-sandbox", "http://127.0.0.1:4566");
  expect(recordedEndpoint("Patchbay-sandbox")).toBe("http://127.0.0.1:4566");
  expect([file, dirname(file)].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o700]);
  forgetEndpoint("Patchbay-sandbox");
  expect([recordedEndpoint("Patchbay-sandbox"), existsSync(file)]).toEqual([undefined, false]);
});
