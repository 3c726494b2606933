import { type Outcome, runSchedule, type Schedule } from "./schedule.ts";

/** The names of the promises that were broken, without their details. */
const promisesOf = ({ broken }: Outcome) => new Set(broken.map((one) => one.split(":")[0]));

/**
 * Leaves out as many ingredients of a failure as possible: first many at once, then each. Returns the remaining ones, which still
 * break one of the same promises. Takes at most `most` runs.
 */
export const shrink = async ({ mix, seed }: Schedule, failure: Outcome, most: number) => {
  const promises = promisesOf(failure);
  let without: ReadonlySet<string> = new Set();
  let left = failure.happened;
  let runs = 0;
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < left.length && runs < most; ) {
      const fewer = new Set([...without, ...left.slice(start, start + size)]);
      const outcome = await runSchedule({ mix, seed, without: fewer });
      runs += 1;
      if (promises.isDisjointFrom(promisesOf(outcome))) start += size;
      else [without, left] = [fewer, outcome.happened];
    }
  }
  return { without, left, runs };
};
