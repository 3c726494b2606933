import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { table } from "../../infra/admin/cli/output.ts";
import { withProgress } from "../../infra/admin/cli/progress.ts";
import { ArgumentError, fail, parseArguments } from "../../infra/local/command.ts";
import { checkout } from "./checkout.ts";
import { cold } from "./cold.ts";
import type { Section } from "./figures.ts";
import { upload } from "./upload.ts";
import { warm } from "./warm.ts";

/** `npm run bench` runs every benchmark. It never fails because something is slow. */

const help = `Usage: npm run bench -- [options]

  --only <names>        comma-separated: cold, warm, upload, checkout
  --repetitions <n>     runs of each measurement (default: 21)
  --json                print JSON
  --help                show this`;

const options = {
  only: { type: "string" },
  repetitions: { type: "string", default: "21" },
  json: { type: "boolean", default: false },
  here: { type: "boolean", default: false },
} as const;

const { values } = parseArguments(help, { options });
if (!/^[1-9]\d*$/.test(values.repetitions))
  fail(new ArgumentError(`--repetitions must be a number from 1, not ${values.repetitions}.`));
const repetitions = Number(values.repetitions);

const benchmarks: Record<string, () => Promise<Section>> = {
  cold: () => cold(repetitions),
  warm: () => warm(repetitions * 5),
  upload: () => upload(repetitions * 5),
  checkout: () => checkout(Math.ceil(repetitions / 4)),
};

/** Runs a benchmark in a separate process, so that it does not inherit the modules of another. */
const inChild = async (name: string): Promise<Section> => {
  const passed = ["--repetitions", values.repetitions, "--json", "--here"];
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, "--only", name, ...passed], {
    maxBuffer: 1e8,
  });
  return JSON.parse(stdout);
};

const show = ({ title, notes = [], rows }: Section) => console.log(`\n${title}\n${notes.join("\n")}\n\n${table(rows)}`);

const main = async () => {
  const names = values.only?.split(",") ?? Object.keys(benchmarks);
  const sections: Section[] = [];
  for (const name of names) {
    const run = benchmarks[name];
    if (!run) throw new Error(`There is no benchmark ${name}. To list them, run with --help.`);
    if (values.here) return console.log(JSON.stringify(await run()));
    console.error(`${name} …`);
    const section = await withProgress(() => inChild(name), `${name} is running`);
    sections.push(section);
    if (!values.json) show(section);
  }
  if (values.json) console.log(JSON.stringify(sections, null, 2));
};

main().then(() => process.exit(0), fail);
