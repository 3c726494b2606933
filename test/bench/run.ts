import { parseArgs } from "node:util";
import { table } from "../../infra/admin/output.ts";
import { cold } from "./cold.ts";
import { cost } from "./cost.ts";
import type { Section } from "./figures.ts";
import { flat } from "./flat.ts";
import { load } from "./load.ts";
import { type BenchService, benchService } from "./service.ts";
import { upload } from "./upload.ts";
import { warm } from "./warm.ts";

/** `npm run bench`: every benchmark, side by side in one run. Nothing here fails for being slow. */

const help = `Usage: npm run bench -- [options]

  --only <names>        some of: cost, flat, cold, warm, upload, load (with commas between them)
  --repetitions <n>     runs of each thing that is timed (default: 21)
  --seconds <n>         length of the load (default: 60)
  --json                print JSON
  --help                show this`;

const options = {
  only: { type: "string" },
  repetitions: { type: "string", default: "21" },
  seconds: { type: "string", default: "60" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

const { values } = parseArgs({ options });

const benchmarks: Record<string, (service: BenchService) => Promise<Section>> = {
  cold: (service) => cold(service, Number(values.repetitions)),
  cost,
  flat,
  warm: (service) => warm(service, Number(values.repetitions) * 5),
  upload: (service) => upload(service, Number(values.repetitions)),
  load: () => load(Number(values.seconds)),
};

const main = async () => {
  if (values.help) return console.log(help);
  const names = values.only?.split(",") ?? Object.keys(benchmarks);
  const unknown = names.find((name) => !benchmarks[name]);
  if (unknown) throw new Error(`There is no benchmark ${unknown}: run with --help.`);
  const service = await benchService();
  const sections: Section[] = [];
  for (const [name, run] of Object.entries(benchmarks)) {
    if (!names.includes(name)) continue;
    console.error(`${name} …`);
    const section = await run(service);
    sections.push(section);
    if (!values.json) console.log(`\n${section.title}\n${(section.notes ?? []).join("\n")}\n\n${table(section.rows)}`);
  }
  await service.close();
  if (values.json) console.log(JSON.stringify(sections, null, 2));
};

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
