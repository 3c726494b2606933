import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { text } from "node:stream/consumers";
import { ArgumentError, fail, parseArguments } from "../../infra/local/command.ts";
import { laterRelease, make, mistakes } from "./mistakes.ts";
import { mixes } from "./mixes.ts";

/** `npm run simulate`: checks orders out under random faults, in virtual time. */

const help = `Usage: npm run simulate -- [options]

Runs schedules: each checks one order out with the real code, in one process and in virtual time, while customers, operators and
random faults disturb it. Everything in a schedule comes from its mix and its seed. A schedule that breaks a promise is repeated
with fewer and fewer faults, and its trace is printed.

  --seconds <n>     run for this many seconds, with new seeds (default: 60); Ctrl-C ends it earlier, with the summary
  --seeds <a-b>     run these seeds instead, or one seed
  --mix <name>      only this mix: ${Object.keys(mixes).join(", ")}
  --shrink <n>      shrink a failure in at most this many runs (default: 500); 0 leaves it as it is
  --trace           print the trace of each schedule
  --reads           include successful reads in traces
  --jobs <n>        the number of processes (default: one for each core)
  --mistake <name>  put a mistake into the code first, to see whether it is found; test/simulation/mistakes.yaml has the names
  --help            show this`;

const options = {
  seconds: { type: "string", default: "60" },
  seeds: { type: "string" },
  mix: { type: "string" },
  shrink: { type: "string", default: "500" },
  trace: { type: "boolean", default: false },
  reads: { type: "boolean", default: false },
  jobs: { type: "string", default: String(availableParallelism()) },
  mistake: { type: "string" },
  /** A child process's number and the total, such as 0/4. */
  part: { type: "string" },
} as const;

const number = (name: string, value: string, least: number): number => {
  if (!/^\d+$/.test(value) || Number(value) < least)
    throw new ArgumentError(`--${name} must be a number from ${least}, not ${value}.`);
  return Number(value);
};

const read = () => {
  const { values } = parseArguments(help, { options });
  const { mix, mistake, seeds } = values;
  if (mix !== undefined && !mixes[mix])
    throw new ArgumentError(`There is no mix ${mix}. To list them, run with --help.`);
  if (mistake !== undefined && !mistakes[mistake])
    throw new ArgumentError(`There is no mistake ${mistake}: test/simulation/mistakes.yaml lists them.`);
  const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(seeds ?? "") ?? [];
  if (seeds !== undefined && from === undefined)
    throw new ArgumentError(`--seeds must be a number, or two with a hyphen between them, not ${seeds}.`);
  // New seeds depend on the time, and repeat after 11 days.
  const range =
    from === undefined
      ? { from: (Date.now() % 1e9) * 1000, to: Number.POSITIVE_INFINITY }
      : { from: Number(from), to: Number(to) };
  return {
    ...values,
    ...range,
    seconds: from === undefined ? number("seconds", values.seconds, 1) : Number.POSITIVE_INFINITY,
    shrink: number("shrink", values.shrink, 0),
    jobs: number("jobs", values.jobs, 1),
  };
};

type Options = ReturnType<typeof read>;

const write = process.stdout.write.bind(process.stdout);
process.stdout.on("error", () => process.exit());
const print = (line: string) => write(`${line}\n`);
const realSeconds = () => Number(process.hrtime.bigint()) / 1e9;

/** Excludes reads, which are most lines of a trace and seldom matter. */
const isInteresting = (line: string) => !/: (Get|BatchGet|Query|GetObject|Scan|ListObjectsV2)\b[^,]*( \[|$)/.test(line);

type Summary = { schedules: number; broken: number; events: number };

/** The first Ctrl-C ends the run after the schedule of each process, with the summary. The second ends it at once. */
let isStopped = false;
process.once("SIGINT", () => {
  isStopped = true;
});

/** Runs schedules in this process. Prints those that break a promise, and returns the counts. */
const runHere = async ({
  mix,
  mistake,
  from,
  to,
  seconds,
  trace,
  reads,
  shrink: most,
  part,
}: Options): Promise<Summary> => {
  const made = mistake === undefined ? undefined : mistakes[mistake];
  if (made) make(made);
  make(laterRelease);
  const { install } = await import("./install.ts");
  install();
  const { runSchedule } = await import("./schedule.ts");
  const { shrink } = await import("./shrink.ts");
  const names = mix ? [mix] : made ? [made.mix] : Object.keys(mixes);
  const [index = 0, count = 1] = part?.split("/").map(Number) ?? [];
  const started = realSeconds();
  const summary = { schedules: 0, broken: 0, events: 0 };
  const onLine = (line: string) => void ((reads || isInteresting(line)) && print(line));
  const isOver = () => isStopped || realSeconds() - started >= seconds;
  for (let seed = from + index; seed <= to && !isOver(); seed += count) {
    const schedule = { mix: names[seed % names.length] ?? "", seed };
    if (trace) print(`\n${schedule.mix}, seed ${seed}:`);
    const outcome = await runSchedule({ ...schedule, ...(trace && { onLine }) });
    summary.schedules += 1;
    summary.events += outcome.events;
    if (outcome.broken.length === 0) continue;
    summary.broken += 1;
    print(
      `\n${schedule.mix}, seed ${seed}, breaks ${outcome.broken.length === 1 ? "a promise" : "promises"}:\n  ${outcome.broken.join("\n  ")}`,
    );
    print(`Repeat it: npm run simulate -- --mix "${schedule.mix}" --seeds ${seed} --trace`);
    if (most > 0) {
      const { without, left, runs } = await shrink(schedule, outcome, most);
      print(
        `Of ${outcome.happened.length} ingredients, ${left.length} ${left.length === 1 ? "is" : "are"} needed (found in ${runs} runs):\n  ${left.join("\n  ")}\n`,
      );
      await runSchedule({ ...schedule, without, onLine });
    }
    if (seconds < Number.POSITIVE_INFINITY || made) break;
  }
  return summary;
};

/** Runs a part of the schedules in a child process, passes on its output, and returns the summary in its last line. */
const runChild = async (index: number, count: number): Promise<Summary> => {
  const args = [
    ...process.execArgv,
    import.meta.filename,
    ...process.argv.slice(2),
    "--jobs",
    "1",
    "--part",
    `${index}/${count}`,
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = (await text(child.stdout)).trimEnd().split("\n");
  const summary = lines.pop() ?? "";
  if (lines.length > 0) print(lines.join("\n"));
  if (!summary.startsWith("{")) throw new Error(summary || "A process of the simulation has ended.");
  return JSON.parse(summary);
};

const main = async () => {
  const options_ = read();
  const started = realSeconds();
  if (options_.part) return print(JSON.stringify(await runHere(options_)));
  const jobs = Math.min(options_.jobs, options_.to - options_.from + 1);
  const parts =
    jobs === 1
      ? [await runHere(options_)]
      : await Promise.all(Array.from({ length: jobs }, (_, index) => runChild(index, jobs)));
  const sum = (name: keyof Summary) => parts.reduce((total, part) => total + part[name], 0);
  const [schedules, seconds] = [sum("schedules"), realSeconds() - started];
  const rate = `${Math.round(schedules / seconds)} a second, ${Math.round(sum("events") / schedules)} events each`;
  print(`${schedules} schedules, ${sum("broken") === 0 ? "none" : sum("broken")} broken; ${rate}.`);
  if (sum("broken") > 0) process.exitCode = 1;
};

await main().catch(fail);
