import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import SwaggerParser from "@apidevtools/swagger-parser";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const offline = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" };

it("Redocly's strict rules find no error and no warning in openapi.json", async () => {
  const redocly = join(root, "test/tools/node_modules/@redocly/cli/bin/cli.js");
  const lint = promisify(execFile)(process.execPath, [redocly, "lint", "openapi.json", "--format=json"], {
    cwd: root,
    env: { ...process.env, ...offline },
  });
  const { stdout } = await lint.catch((failed: { stdout: string }) => failed);
  const { problems, totals } = JSON.parse(stdout);
  expect([problems, totals]).toMatchObject([[], { errors: 0, warnings: 0 }]);
});

it("swagger-parser, on which many tools rest, accepts openapi.json", async () => {
  expect(await SwaggerParser.validate(join(root, "openapi.json"))).toMatchObject({ openapi: "3.1.0" });
});
