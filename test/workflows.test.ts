import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod/mini";

const root = join(import.meta.dirname, "..");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const Workflow = z.looseObject({
  permissions: z.strictObject({ contents: z.literal("read") }),
  jobs: z.record(
    z.string(),
    z.looseObject({ steps: z.array(z.looseObject({ uses: z.optional(z.string()), run: z.optional(z.string()) })) }),
  ),
});

it.each(globSync(".github/workflows/*.yml", { cwd: root }))(
  "%s starts without write permissions, pins its actions, and calls npm scripts that exist",
  (file) => {
    const { jobs } = z.parse(Workflow, parse(readFileSync(join(root, file), "utf8")));
    const steps = Object.values(jobs).flatMap((job) => job.steps);
    for (const { uses } of steps) if (uses) expect(uses).toMatch(/^(actions|github)\/[\w/-]+@v\d+$/);
    const called = steps.flatMap(({ run = "" }) =>
      [...run.matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name]) => name),
    );
    expect(called.filter((name = "") => !(name in scripts))).toEqual([]);
  },
);
