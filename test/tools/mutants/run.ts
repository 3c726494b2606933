import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, matchesGlob, relative } from "node:path";
import type { Stryker } from "@stryker-mutator/core";
import { ArgumentError, fail, parseArguments } from "../../../infra/local/command.ts";
import { setup } from "../install.ts";
import { type Area, areas } from "./areas.ts";

/** `npm run mutants`: changes the code in one place at a time, and reports the changes that no test notices. */

const root = join(import.meta.dirname, "../../..");
const cache = join(root, "node_modules/.cache/mutants");
const reportFile = join(root, "test-artifacts/mutants.md");

type Mutant = Awaited<ReturnType<Stryker["runMutationTest"]>>[number];

const runArea = async (name: string, { mutate, tests, setup, ignoreStatic = false }: Area) => {
  // Stryker is installed by now.
  const { Stryker } = await import("@stryker-mutator/core");
  process.env.MUTANTS_TESTS = tests.join(" ");
  process.env.MUTANTS_SETUP = setup ?? "";
  return new Stryker({
    mutate: [...mutate],
    plugins: [import.meta.resolve("@stryker-mutator/vitest-runner"), import.meta.resolve("./texts.ts")],
    ignorers: ["texts"],
    ignoreStatic,
    testRunner: "vitest",
    vitest: { configFile: "test/tools/mutants/vitest.config.ts", related: false },
    coverageAnalysis: "perTest",
    incremental: true,
    incrementalFile: join(cache, `${name.replaceAll(/\W/g, "-")}.json`),
    concurrency: 2,
    timeoutMS: 30_000,
    tempDirName: join(tmpdir(), "patchbay-mutants"),
    ignorePatterns: ["docs", ".ci", "test/bench", "test-artifacts"],
    reporters: ["progress-append-only"],
    allowEmpty: true,
  }).runMutationTest();
};

// A RuntimeError fails a hook of the tests, such as the creation of a tenant.
const statusesNoticed = ["Killed", "Timeout", "RuntimeError"];
const statusesMissed = ["Survived", "NoCoverage"];

const oneLine = (code: string) => code.replaceAll(/\s+/g, " ").trim();

/** The code that a mutant replaces. */
const codeOf = ({ fileName, location: { start, end } }: Mutant): string => {
  const lines = readFileSync(fileName, "utf8")
    .split("\n")
    .slice(start.line - 1, end.line);
  const last = lines.length - 1;
  return oneLine(
    lines
      .map((line, index) => line.slice(index === 0 ? start.column - 1 : 0, index === last ? end.column - 1 : undefined))
      .join("\n"),
  );
};

const describeSurvivor = (mutant: Mutant): string => {
  const file = relative(root, mutant.fileName);
  return `- ${file}:${mutant.location.start.line} \`${codeOf(mutant)}\` → \`${oneLine(mutant.replacement ?? "")}\``;
};

const scoreOf = (name: string, mutants: readonly Mutant[]): string => {
  const [noticed = 0, missed = 0] = [statusesNoticed, statusesMissed].map(
    (statuses) => mutants.filter(({ status }) => statuses.includes(status)).length,
  );
  const score = (100 * noticed) / Math.max(1, noticed + missed);
  return `| ${name} | ${noticed} | ${missed} | ${score.toFixed(1)} % |`;
};

/** A table of scores, then the survivors. */
const reportOf = (results: ReadonlyMap<string, readonly Mutant[]>): string => {
  const rows = [...results, ["all", [...results.values()].flat()] as const].map(([name, mutants]) =>
    scoreOf(name, mutants),
  );
  const survivors = [...results].map(([name, mutants]) => {
    const missed = mutants.filter(({ status }) => statusesMissed.includes(status));
    return `## ${name}\n\n${missed.map(describeSurvivor).join("\n")}`;
  });
  const head = "| area | noticed | survived | score |\n| --- | --- | --- | --- |";
  return `${head}\n${rows.join("\n")}\n\n${survivors.join("\n\n")}\n`;
};

/** Limits an area to these paths, if there are any. */
const within = (paths: readonly string[], area: Area): Area => {
  const files = area.mutate.filter((glob) => paths.length === 0 || paths.some((path) => matchesGlob(path, glob)));
  return files.length > 0 && paths.length > 0
    ? { ...area, mutate: paths.filter((path) => files.some((glob) => matchesGlob(path, glob))) }
    : { ...area, mutate: files };
};

const help = `Usage: npm run mutants -- [file ... | area ...]

Changes the code in one place at a time, and reports the changes that no test notices. Later runs try only what has
changed since. All areas take an hour or more the first time:

${Object.keys(areas)
  .map((name) => `  "${name}"`)
  .join("\n")}`;

const run = async () => {
  const { positionals } = parseArguments(help, { allowPositionals: true });
  const chosen = Object.entries(areas).flatMap(([name, area]) => {
    const part = positionals.includes(name) ? area : within(positionals, area);
    return part.mutate.length > 0 ? [[name, part] as const] : [];
  });
  if (chosen.length === 0) throw new ArgumentError("No area has such a file. To list the areas, run with --help.");
  setup();
  const results = new Map<string, readonly Mutant[]>();
  for (const [name, area] of chosen) results.set(name, await runArea(name, area));
  const report = reportOf(results);
  mkdirSync(join(root, "test-artifacts"), { recursive: true });
  writeFileSync(reportFile, report);
  console.log(`${report}\nThis report is in ${relative(root, reportFile)}.`);
};

await run().catch(fail);
