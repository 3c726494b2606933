import { existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { readArguments } from "../../../infra/aws/cdk.ts";
import { listen } from "../../../infra/local/listen.ts";
import manifest from "../../../package.json" with { type: "json" };
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { failure } from "../../support/processes/failure.ts";
import { runNode } from "../../support/processes/shell.ts";
import { cloudFormation } from "../../support/servers/cloudformation.ts";
import { byExtent, exhaustive, sampleOf } from "../../support/setup/extent.ts";

it("a command's arguments name the stage and the stack in every form that cdk accepts", () => {
  const args = ["-c", "stage=a=b", "--context", "name=anna", "--outputs-file", "out.json", "--profile", "dev", "-f"];
  expect(readArguments(args)).toMatchObject({ context: { stage: "a=b", name: "anna" }, profile: "dev", force: true });
  expect(readArguments(["-cstage=a", "--context=name=anna"]).context).toEqual({ stage: "a", name: "anna" });
});

it("cdk with an unknown stage synthesizes nothing, and says so in one line", async () => {
  const env = { CDK_CONTEXT_JSON: JSON.stringify({ "aws:cdk:version-reporting": true, stage: "staging" }) };
  const none = /^There is no stage staging\. Choose -c stage=.*\n$/;
  expect(await runNode(["infra/aws/app.ts"], { env })).toEqual(failure(1, none));
});

it.each(sampleOf(["deploy", "synth", "deploy-local", "destroy"], byExtent({ sample: 4, most: 1, all: 1 })))(
  "./patchbay %s does nothing with an option that cdk would ignore",
  async (name) => {
    // It would deploy or delete the sandbox.
    const { code, stdout, stderr } = await runNode(["infra/patchbay.ts", name, "-cname=anna", "--stage", "production"]);
    const help = `Unknown option '--stage'. To list the options, run ./patchbay ${name} --help.\n`;
    expect([code, stdout, stderr]).toEqual([2, "", help]);
  },
);

const destroy = (args: readonly string[], env = {}) => runNode(["infra/aws/run.ts", "destroy", ...args], { env });

it.runIf(exhaustive)(
  "./patchbay destroy says that there is nothing to delete, and does not ask without a terminal",
  async () => {
    const { url, close } = await listen(cloudFormation("Patchbay-localstack-here"));
    onTestFinished(close);
    const env = { AWS_ENDPOINT_URL: url, PATCHBAY_STATE: newFolder() };
    expect(await destroy(["-c", "name=gone"], env)).toMatchObject({
      stdout: `There is no stack Patchbay-localstack-gone at ${url}: nothing to delete.\n`,
      stderr: "",
    });
    const unconfirmed = "Not a terminal: confirm the deletion of Patchbay-localstack-here with --force.\n";
    expect(await destroy(["-c", "name=here"], env)).toMatchObject({ stdout: "", stderr: unconfirmed });
  },
);

it.runIf(exhaustive)("./patchbay destroy without a region says what to set", async () => {
  const nowhere = { AWS_REGION: "", AWS_PROFILE: "", AWS_ENDPOINT_URL: "", AWS_CONFIG_FILE: "/nonexistent" };
  const advice = /^The stack Patchbay-sandbox cannot be looked up \(.+\): set AWS_REGION and AWS_PROFILE, or .+\.\n$/;
  expect(await destroy(["-c", "stage=sandbox"], nowhere)).toEqual(failure(1, advice));
});

it("a command for an emulator prints help, and says how to start one where nothing responds", async () => {
  expect((await destroy(["--help"])).stdout).toContain("Usage: ./patchbay destroy");
  const env = { AWS_ENDPOINT_URL: "http://127.0.0.1:1/" };
  expect(await runNode(["infra/aws/run.ts", "deploy-local"], { env })).toEqual(
    failure(
      1,
      /^Nothing responds at http:..127.0.0.1:1\. .+\n {2}docker compose up -d --wait && \.\/patchbay deploy-local\n.+\n$/,
    ),
  );
});

it.runIf(exhaustive)(
  "deploy-local records the endpoint before it deploys, so that the CLI finds no stack on AWS instead",
  async () => {
    const { url, close } = await listen(createServer((_, outgoing) => outgoing.writeHead(400).end()));
    const env = { AWS_ENDPOINT_URL: url, PATCHBAY_STATE: newFolder() };
    expect((await runNode(["infra/aws/run.ts", "deploy-local"], { env })).code).toBe(1);
    await close();
    expect(existsSync(join(env.PATCHBAY_STATE, "emulators/Patchbay-localstack.json"))).toBe(true);
  },
  120_000,
);

const expectMisuse = async (args: readonly string[]) => {
  const { code, stdout, stderr } = await runNode([...args, "--bogus"]);
  expect([args, code, stdout, stderr]).toEqual([
    args,
    2,
    "",
    expect.stringMatching(/^Unknown option '--bogus'.*\n\nUsage: /),
  ]);
};

it("every npm script and every program prints its own usage, with exit 2 for an option that it does not have, and does nothing else", async () => {
  const stride = byExtent({ sample: 3, most: 1, all: 1 });
  const scripts: [string, string][] = sampleOf(Object.entries(manifest.scripts), stride);
  const files = ["openapi.json", "openapi.d.ts", "docs/images/reference-light.png"];
  const writtenAt = () => files.map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs);
  const before = writtenAt();
  for (const [name, script] of scripts) {
    const [program, ...args] = script.split(" && ").at(-1)?.split(" ") ?? [];
    // These print the usage of vitest and npm.
    if (program !== "node" || script.includes("vitest.mjs")) expect(["test", "sbom"]).toContain(name);
    else {
      expect((await runNode([...args, "--help"])).stdout, name).toMatch(/^Usage: (npm (run )?|\.\/patchbay start)/);
      await expectMisuse(args);
    }
  }
  for (const name of sampleOf(["start", "console", "carrier", "docs", "deploy-local", "destroy"], stride))
    expect((await runNode(["infra/patchbay.ts", name, "--help"])).stdout).toMatch(`Usage: ./patchbay ${name} `);
  for (const name of sampleOf(["docs", "start", "carrier", "console"], stride))
    await expectMisuse(["infra/patchbay.ts", name]);
  expect(writtenAt()).toEqual(before);
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
