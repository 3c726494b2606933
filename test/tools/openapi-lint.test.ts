import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import * as z from "zod/mini";

const root = join(import.meta.dirname, "../..");
const offline = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" };

it("Redocly's strict rules find no error and no warning in openapi.json", async () => {
  const redocly = join(root, "test/tools/node_modules/@redocly/cli/bin/cli.js");
  const lint = promisify(execFile)(process.execPath, [redocly, "lint", "openapi.json", "--format=json"], {
    cwd: root,
    env: { ...process.env, ...offline },
  });
  const { stdout } = await lint.catch((failed: { stdout: string }) => failed);
  const Report = z.object({
    problems: z.array(z.unknown()),
    totals: z.object({ errors: z.number(), warnings: z.number() }),
  });
  expect(z.parse(Report, JSON.parse(stdout))).toEqual({ problems: [], totals: { errors: 0, warnings: 0 } });
});
