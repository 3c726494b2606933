import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readArguments } from "../../../infra/aws/cdk.ts";
import { listen } from "../../../infra/local/listen.ts";
import { cloudFormation } from "../../support/servers/cloudformation.ts";
import { extent } from "../../support/setup/extent.ts";

const exhaustive = extent !== "sample";
const root = join(import.meta.dirname, "../../..");

const run = (command: string, args: readonly string[], environment: Record<string, string> = {}) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, ...environment },
  });
  return { status, stdout, stderr };
};

describe("a command's arguments", () => {
  it("name the stage and the stack in every form that cdk accepts", () => {
    const args = ["-c", "stage=a=b", "--context", "name=anna", "--outputs-file", "out.json", "--profile", "dev", "-f"];
    expect(readArguments(args)).toMatchObject({ context: { stage: "a=b", name: "anna" }, profile: "dev", force: true });
    expect(readArguments(["-cstage=a", "--context=name=anna"]).context).toEqual({ stage: "a", name: "anna" });
  });
});

describe("cdk", () => {
  it("without a stage synthesizes nothing, and says so in one line", () => {
    const context = JSON.stringify({ "aws:cdk:version-reporting": true, stage: "staging" });
    expect(run("infra/aws/app.ts", [], { CDK_CONTEXT_JSON: context })).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^There is no stage staging\. Choose -c stage=.*\n$/),
    });
  });
});

describe("npm run destroy", () => {
  const server = cloudFormation("Patchbay-local-here");
  const folder = mkdtempSync(join(tmpdir(), "patchbay-notes-"));
  let endpoint = "";
  beforeAll(async () => {
    endpoint = (await listen(server)).url;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });

  /** Not synchronous, since the stand-in for CloudFormation is in this process. */
  const destroy = async (...args: string[]) => {
    const env = { ...process.env, AWS_ENDPOINT_URL: endpoint, PATCHBAY_STATE: folder };
    const child = spawn(process.execPath, ["infra/aws/destroy.ts", ...args], { cwd: root, env });
    child.stdin.end();
    return Promise.all([text(child.stdout), text(child.stderr)]);
  };

  it.runIf(exhaustive)("says that there is nothing to delete, and does not ask without a terminal", async () => {
    expect(await destroy("-c", "name=gone")).toEqual([
      `There is no stack Patchbay-local-gone at ${endpoint}: nothing to delete.\n`,
      "",
    ]);
    expect(await destroy("-c", "name=here")).toEqual([
      "",
      "Not a terminal: confirm with --force that Patchbay-local-here is to be deleted.\n",
    ]);
  });
});

describe("npm run destroy without a region", () => {
  it.runIf(exhaustive)("says what to set", () => {
    const nowhere = { AWS_REGION: "", AWS_PROFILE: "", AWS_ENDPOINT_URL: "", AWS_CONFIG_FILE: "/nonexistent" };
    expect(run("infra/aws/destroy.ts", ["-c", "stage=sandbox"], nowhere)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^The stack Patchbay-sandbox cannot be looked up \(.+\): set AWS_REGION and AWS_PROFILE, or .+\.\n$/,
      ),
    });
  });
});

describe("a command for an emulator", () => {
  it("prints help, and names the address that does not respond", () => {
    expect(run("infra/aws/destroy.ts", ["--help"])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("Usage: npm run"),
    });
    expect(run("infra/aws/deploy-local.ts", [], { AWS_ENDPOINT_URL: "http://127.0.0.1:1/" })).toMatchObject({
      status: 1,
      stderr: "Nothing responds at http://127.0.0.1:1: start LocalStack or MiniStack, or set AWS_ENDPOINT_URL.\n",
    });
  });
});

describe("the record of where a stack was deployed", () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-notes-"));
  afterAll(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  it("contains the endpoint until the stack is deleted", async () => {
    vi.stubEnv("PATCHBAY_STATE", folder);
    const { forgetEndpoint, recordedEndpoint, recordEndpoint } = await import("../../../infra/aws/emulator.ts");
    const file = join(folder, "emulators/Patchbay-sandbox.json");
    recordEndpoint("Patchbay-sandbox", "http://127.0.0.1:4566");
    expect(recordedEndpoint("Patchbay-sandbox")).toBe("http://127.0.0.1:4566");
    expect([file, dirname(file)].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o700]);
    forgetEndpoint("Patchbay-sandbox");
    expect([recordedEndpoint("Patchbay-sandbox"), existsSync(file)]).toEqual([undefined, false]);
  });
});
