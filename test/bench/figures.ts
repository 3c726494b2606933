/** Numbers from noisy machines: medians of interleaved runs, and tables of them. */

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [below = 0, above = 0] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return (below + above) / 2;
};

export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

/** Runs each of `runs` once, in turn, `repetitions` times over: whatever the machine does, it does to all of them. */
export const interleaved = async (
  runs: Readonly<Record<string, () => Promise<number>>>,
  repetitions: number,
): Promise<Record<string, number[]>> => {
  const results: Record<string, number[]> = Object.fromEntries(Object.keys(runs).map((name) => [name, []]));
  for (let repetition = 0; repetition < repetitions; repetition += 1)
    for (const [name, run] of Object.entries(runs)) results[name]?.push(await run());
  return results;
};

/** Makes one run ready; what that answers is run and timed. */
type Ready = () => Promise<() => Promise<unknown>>;

/**
 * Milliseconds of `repetitions` runs of two things. They are made ready a batch at a time and then run by turns, each the
 * first as often as the other: what making them ready leaves behind, in caches or on the event loop, slows neither.
 */
export const alternating = async (
  one: Ready,
  other: Ready,
  repetitions: number,
): Promise<readonly [number[], number[]]> => {
  const times = [[], []] as readonly [number[], number[]];
  while (times[0].length < repetitions) {
    const batch = Math.min(15, repetitions - times[0].length);
    const pairs: (readonly [() => Promise<unknown>, () => Promise<unknown>])[] = [];
    while (pairs.length < batch) pairs.push([await one(), await other()]);
    for (const [turn, pair] of pairs.entries())
      for (const which of turn % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const start = performance.now();
        await pair[which]();
        times[which].push(performance.now() - start);
      }
  }
  return times;
};

export type Section = {
  readonly title: string;
  readonly notes?: readonly string[];
  readonly rows: readonly Readonly<Record<string, string | number>>[];
};

export const round = (value: number, digits = 2): number => Number(value.toFixed(digits));
