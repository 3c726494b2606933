import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { parse } from "yaml";
import { allFunctions } from "../../../infra/aws/bundle.ts";
import { useEmulator } from "../../../infra/aws/emulator.ts";
import { readSettings } from "../../../infra/aws/settings.ts";
import { patchbay } from "../../../infra/aws/stack.ts";
import { listen } from "../../../infra/local/listen.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { exhaustive } from "../../support/setup/extent.ts";

/** Responds to the health check of one emulator. */
const emulator = async (name: string) => {
  const paths = ["/", `/_${name}/health`];
  const server = createServer(({ url = "" }, response) => response.writeHead(paths.includes(url) ? 200 : 404).end());
  const { url, close } = await listen(server);
  const before = { ...process.env };
  delete process.env.AWS_ENDPOINT_URL_S3;
  onTestFinished(async () => {
    // The object stays the same, because Vitest stubs variables in it.
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, before);
    await close();
  });
  return url;
};

describe("an emulator", () => {
  it("is MiniStack if that health check responds, and keeps its address", async () => {
    const url = await emulator("ministack");
    expect(await useEmulator(`${url}/`)).toEqual({ endpoint: url, stage: "ministack" });
    expect(process.env).toMatchObject({ AWS_ENDPOINT_URL: url, AWS_ENDPOINT_URL_S3: url });
  });

  it("is LocalStack otherwise, with the name that its containers know, if this machine resolves it", async () => {
    const url = await emulator("localstack");
    const { endpoint, stage } = await useEmulator(url);
    expect(stage).toBe("localstack");
    expect([url, url.replace("127.0.0.1", "localhost.localstack.cloud")]).toContain(endpoint);
  });
});

/** The values of AWS_ENDPOINT_URL_S3 in the functions with access to files. */
const s3EndpointsOn = (address: string) => {
  vi.stubEnv("CDK_VALIDATION", "false");
  onTestFinished(() => void vi.unstubAllEnvs());
  const folder = newFolder();
  for (const { file } of allFunctions) {
    mkdirSync(join(folder, file), { recursive: true });
    writeFileSync(join(folder, file, "index.mjs"), `// ${file}`);
  }
  const app = new App({ outdir: join(folder, "out"), treeMetadata: false });
  const stack = patchbay(app, readSettings({ stage: "localstack" }, address), folder);
  const functions = Object.values(Template.fromStack(stack).findResources("AWS::Lambda::Function"));
  const variables = functions.map(({ Properties }) => Properties.Environment?.Variables ?? {});
  return new Set(variables.filter((each) => each.BUCKET_NAME).map((each) => each.AWS_ENDPOINT_URL_S3));
};

it.runIf(exhaustive)(
  "functions call S3 by an emulator's name, so that callers reach signed URLs; not by an address of this machine only",
  () => {
    const named = "http://localhost.localstack.cloud:4566";
    expect(s3EndpointsOn(named)).toEqual(new Set([named]));
    expect(s3EndpointsOn("http://127.0.0.1:4566")).toEqual(new Set([undefined]));
  },
);

it("compose.yaml starts the last LocalStack without an account, for this machine only, with the carrier's name in containers", () => {
  const { localstack } = parse(readFileSync("compose.yaml", "utf8")).services;
  expect(localstack).toMatchObject({ image: "localstack/localstack:4.14.0", ports: ["127.0.0.1:4566:4566"] });
  const { hostname } = new URL(readSettings({ stage: "localstack" }, undefined).carrierUrl ?? "");
  expect(localstack.environment.LAMBDA_DOCKER_FLAGS).toBe(`--add-host=${hostname}:host-gateway`);
});
