import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";

/** `npm run test:faults`: the exhaustive suites, of which `npm test` runs a sample. */
const suites: Readonly<Record<string, readonly [fileOrFolder: string, about: string]>> = {
  faults: ["test/faults/every-fault.test.ts", "nine kinds of fault in each AWS call of each endpoint"],
  deadline: ["test/faults/deadline.test.ts", "each endpoint with AWS calls that all hang"],
  late: ["test/faults/late-commit.test.ts", "writes that commit after their client has timed out"],
  secrets: ["test/faults/secrets.test.ts", "planted secrets, which no log or error may contain under any fault"],
  conflicts: ["test/faults/conflicts.test.ts", "concurrent writes with conflicts between their transactions"],
  sweep: ["test/faults/sweep.test.ts", "the sweep during uploads and deletes, and of more files than S3 lists at once"],
  crashes: ["test/faults/crash.test.ts", "the process killed before and after each AWS call"],
  fuzz: ["test/faults/fuzz.test.ts", "hostile bodies, headers, queries and paths"],
  tenants: ["test/faults/tenants.test.ts", "each endpoint with each kind of key of each related account"],
  schedules: ["test/shared/checkout/interleaving.test.ts", "a checkout, an upload and a delete in every order"],
  kills: ["test/shared/checkout/kill.test.ts", "the checkout's process killed at each step and each call"],
  duplicates: ["test/shared/checkout/duplicates.test.ts", "two copies of a checkout step at once"],
  malware: [
    "test/shared/checkout/malware-scan.test.ts",
    "an infected letter in a race of its upload, its scan and a checkout",
  ],
  restarts: ["test/infra/local/kills.test.ts", "the local stack killed under load, with --data"],
  start: [
    "test/infra/local/start.test.ts",
    "the data, processes and limits of the local stack, with up to 200 uploads at once",
  ],
  sockets: [
    "test/infra/local/sockets.test.ts",
    "10,000 random sequences of bytes and resets at the local stack's addresses",
  ],
  events: ["test/infra/local/events.test.ts", "1,500 events for a receiver that hangs, and a kill of the local stack"],
  data: [
    "test/infra/local/data.test.ts",
    "the data that the local stack keeps after a stop, a kill and truncated files, with --data",
  ],
  reference: ["test/tools/reference.test.ts", "the API reference in Chromium"],
  limits: ["test/shared/checkout/limits.test.ts", "the state and the transactions of an order of 200 requests"],
  large: ["test/shared/checkout/large.test.ts", "the memory of a checkout of large files and of many files"],
  flat: ["test/cost/flat.test.ts", "the cost of a request with little and with much data stored"],
  input: ["test/functions/attachments/any-input.test.ts", "random text and JSON for attachments"],
  lists: ["test/functions/attachments/list-model.test.ts", "lists of attachments compared with a model"],
  parents: [
    "test/functions/attachments/",
    "the rules of attachments, for requests and for orders; a sample has one of the two in each file",
  ],
  binary: ["test/infra/local/dynoxide-binary.test.ts", "the install of the embedded DynamoDB where it is missing"],
  destroy: ["test/infra/aws/commands.test.ts", "the commands of a deployment"],
  examples: ["test/examples.test.ts", "the example programs in docs/examples, against npm start"],
  expressions: ["test/tools/regular-expressions.test.ts", "each regular expression: can it backtrack for long?"],
  pages: ["test/functions/switches/page-size.test.ts", "pages of switches up to Lambda's response limit"],
};

const help = `Usage: npm run test:faults -- [suite ...] [--full]

Runs the exhaustive suites, of which \`npm test\` runs a sample: most of each in a few minutes, all of each with --full
in about half an hour.

${Object.entries(suites)
  .map(([name, [file, about]]) => `  ${name.padEnd(10)} ${about}\n  ${"".padEnd(10)} (${file})`)
  .join("\n")}

  --full     all of it
  --help     show this`;

const run = (): number => {
  const options = { full: { type: "boolean" }, help: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const unknown = positionals.filter((name) => !(name in suites));
  if (unknown.length > 0) throw new Error(`There is no suite ${unknown.join(", ")}. To list them, run with --help.`);
  const names = positionals.length > 0 ? positionals : Object.keys(suites);
  const files = names.flatMap((name) => suites[name]?.slice(0, 1) ?? []);
  const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
  const env = { ...process.env, TEST_EXTENT: values.full ? "all" : "most" };
  const { status } = spawnSync(process.execPath, [vitest, "run", ...files], { stdio: "inherit", env });
  return status ?? 1;
};

try {
  process.exitCode = run();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
