import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, inject, it } from "vitest";
import * as z from "zod/mini";
import { upload } from "../../support/fixtures/attachments.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { byExtent } from "../../support/setup/extent.ts";

/** Generates the types of the README's typed client, compiles it strictly and runs it. */
const root = join(import.meta.dirname, "../../..");
const folder = join(root, "test-artifacts/typed-client");

const Package = z.object({ scripts: z.object({ "openapi:types": z.string() }) });

const snippet = () => {
  const section = /^#+ A typed client\n(.*?)(?=^#+ |$(?![\s\S]))/ms.exec(
    readFileSync(join(root, "README.md"), "utf8"),
  )?.[1];
  const code = /^```ts\n(.*?)^```$/ms.exec(section ?? "")?.[1];
  if (!code) throw new Error('README.md has no section "A typed client" with a ts block.');
  return code;
};

const run = (file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  promisify(execFile)(process.execPath, [join(root, file), ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
  }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(error.stdout + error.stderr, { cause: error });
  });

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "client.ts"), snippet());
});

// The compiler reads all installed type declarations, which takes seconds of processor time.
const compiles = byExtent({ sample: false, most: true, all: true });

it.runIf(compiles)("the typed client compiles with the strictest options", async () => {
  const { scripts } = z.parse(Package, JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
  const [, ...args] = scripts["openapi:types"].replace("openapi.json", join(root, "openapi.json")).split(" ");
  await run("node_modules/openapi-typescript/bin/cli.js", args);
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--skipLibCheck", "false"];
  const options = ["--noEmit", "--module", "nodenext", "--target", "es2024", "--types", "node", "--ignoreConfig"];
  await run("node_modules/tsc/bin/tsc", [...strict, ...options, "client.ts"]);
});

it("the typed client has six lines without its imports", () => {
  const lines = snippet()
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("import "));
  expect(lines.length).toBeLessThanOrEqual(6);
});

it("the typed client lists attachments of the service", async () => {
  const t = await tenants();
  const [key, request] = [t.key("acme"), t.request("acme")];
  const { id } = await upload(`/api/v1/requests/${request}/attachments`, key, {
    "data[name]": "Letter of authorization",
  });
  const env = { PATCHBAY_URL: inject("baseUrl"), KEY: key, REQUEST_ID: request };
  const { stdout } = await run("test-artifacts/typed-client/client.ts", [], env);
  expect(stdout).toContain(id);
  expect(stdout).toContain("Letter of authorization");
});
