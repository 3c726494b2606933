import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { allFunctions, bundle } from "../../../infra/aws/bundle.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { contracts, routes } from "../../../shared/routes.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { runNode } from "../../support/processes/shell.ts";

const folder = newFolder();
const { outputs } = await bundle(allFunctions, folder);

const fileOf = (name: string) => allFunctions.find((one) => one.name === name)?.file ?? "";

const outputOf = (name: string) => {
  const output = Object.entries(outputs).find(([path]) => path.endsWith(`/${fileOf(name)}/index.mjs`))?.[1];
  if (!output) throw new Error(`there is no bundle ${name}`);
  return output;
};

/** The packages and the files of this repository in a function's bundle. */
const contents = (name: string): string[] => {
  const used = Object.entries(outputOf(name).inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return [...new Set(used.map(([file]) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? file))].sort();
};

const text = (name: string) => readFileSync(join(folder, fileOf(name), "index.mjs"), "utf8");
/** Detects file types, which only functions that create attachments need. */
const fileKind = "shared/attachments/file-kind.ts";
const s3 = "@aws-sdk/client-s3";
const all = [...routes, ...steps];

describe("a function's bundle", () => {
  it.each(all.map((row) => [row.name, row] as const))("contains only what it uses: %s", (name, { grants }) => {
    const inside = contents(name);
    expect(inside.includes(s3)).toBe(grants.files.length > 0);
    expect(inside.includes("@fastify/busboy")).toBe(/attachments\/create$/.test(name));
    expect(inside.includes(fileKind)).toBe(/attachments\/(create|complete-upload)$/.test(name));
    expect(inside.includes("@aws-sdk/client-secrets-manager")).toBe(
      steps.some((row) => row.name === name && row.carrier),
    );
    expect(inside.includes("@aws-sdk/client-sfn")).toBe(steps.some((row) => row.name === name && row.executions));
    const unwanted = ["@aws-sdk/client-cloudformation", "@aws-sdk/credential-provider-node"];
    expect(inside.filter((each) => unwanted.includes(each))).toEqual([]);
    const notLoaded = /^infra\/local|\/(contract|documents)\.ts$/;
    expect(inside.filter((each) => notLoaded.test(each))).toEqual([]);
    expect(inside.filter((each) => each.startsWith("functions/"))).toEqual([fileOf(name)]);
  });

  it("contains the rows of its own domain only, and no text or example of the OpenAPI document", () => {
    const texts = contracts.flatMap(({ schemas }) =>
      schemas.flatMap(({ properties = {} }) => Object.values(properties)),
    );
    expect(texts.length).toBeGreaterThan(50);
    for (const { name, resource } of routes) {
      const domain = resource === "switch" ? "switches" : "attachments";
      const rows = contents(name).filter((file) => /^shared\/(\w+\/)?routes\.ts$/.test(file));
      expect(rows, name).toEqual([`shared/${domain}/routes.ts`]);
      const inside = texts.filter((each) => text(name).includes(each));
      expect(inside, name).toEqual([]);
    }
  });

  it("has at most 290 KiB, or 425 KiB with the S3 client", () => {
    for (const { name, grants } of all)
      expect(text(name).length, name).toBeLessThan((grants.files.length > 0 ? 425 : 290) * 1024);
  });

  it("reports errors with positions in the sources", async () => {
    const bundle = pathToFileURL(join(folder, "functions/checkout/begin.ts/index.mjs")).href;
    const script = `const { handler } = await import("${bundle}"); await handler({}).catch(() => undefined);`;
    const { stdout } = await runNode(["--input-type=module", "--eval", script], { env: { LOG_LEVEL: "ERROR" } });
    const { error } = JSON.parse(stdout);
    expect(error.stack).toMatch(/ at (?:\S+ \()?shared\/checkout\/step-handler\.ts:\d+:\d+/);
    expect(error.stack).not.toContain("index.mjs");
  });

  it("does not load Node's fetch with its first call to AWS", async () => {
    const bundle = pathToFileURL(join(folder, "functions/switches/show.ts/index.mjs")).href;
    const script = `
      const { handler } = await import("${bundle}");
      const event = { headers: { Authorization: "Bearer apik_${"a".repeat(43)}" }, pathParameters: { id: "none" }, requestContext: {} };
      const { statusCode } = await handler(event, { getRemainingTimeInMillis: () => 29_000 });
      const loaded = process.moduleLoadList.filter((name) => name.includes("undici"));
      process.stderr.write(JSON.stringify({ statusCode, loaded }));`;
    const { stderr } = await runNode(["--input-type=module", "--eval", script]);
    expect(JSON.parse(stderr)).toEqual({ statusCode: 401, loaded: [] });
  });
});
