import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { bundle } from "../../infra/aws/bundle.ts";
import { functionNames } from "../../infra/aws/inventory.ts";
import { routes } from "../../shared/routes.ts";
import { steps } from "../../shared/steps.ts";

const folder = mkdtempSync(join(tmpdir(), "patchbay-bundles-"));
afterAll(() => rmSync(folder, { recursive: true }));
const { outputs } = bundle(functionNames, folder);

/** The packages, and our own files, that are in a function's bundle. */
const contents = (name: string): string[] => {
  const output = Object.entries(outputs).find(([file]) => file.endsWith(`/${name}/index.mjs`))?.[1];
  if (!output) throw new Error(`there is no bundle ${name}`);
  const used = Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return [...new Set(used.map(([file]) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? file))].sort();
};

const size = (name: string) => readFileSync(join(folder, name, "index.mjs")).length;
const s3 = "@aws-sdk/client-s3";
const all = [...routes, ...steps];

describe("a function's bundle", () => {
  it.each(all.map((row) => [row.name, row] as const))("holds what it uses only: %s", (name, { access }) => {
    const inside = contents(name);
    expect(inside.includes(s3)).toBe(access.files.length > 0);
    expect(inside.includes("@aws-sdk/client-secrets-manager")).toBe(
      steps.some((row) => row.name === name && row.carrier),
    );
    const unwanted = ["@aws-sdk/client-sfn", "@aws-sdk/client-cloudformation", "@aws-sdk/credential-provider-node"];
    expect(inside.filter((each) => unwanted.includes(each))).toEqual([]);
    const others = all.map((row) => `functions/${row.name}.ts`).filter((file) => file !== `functions/${name}.ts`);
    expect(inside.filter((each) => others.includes(each) || each.startsWith("infra/local"))).toEqual([]);
  });

  it("is small: 320 KiB, and 520 KiB with the S3 or Secrets Manager client", () => {
    for (const { name, access } of all) {
      const carrier = steps.some((row) => row.name === name && row.carrier);
      expect(size(name), name).toBeLessThan(access.files.length > 0 || carrier ? 520 * 1024 : 320 * 1024);
    }
  });
});
