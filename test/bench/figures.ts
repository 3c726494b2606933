/** Statistics of interleaved runs, for machines with noise. */

export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** Runs each of `runs` in turn, `repetitions` times, so that other load on the machine affects all of them. */
export const interleaved = async <T>(runs: Readonly<Record<string, () => Promise<T>>>, repetitions: number) => {
  const results = new Map<string, T[]>();
  for (let repetition = 0; repetition < repetitions; repetition += 1)
    for (const [name, run] of Object.entries(runs)) results.set(name, [...(results.get(name) ?? []), await run()]);
  return results;
};

/** Prepares one run. The returned function is run and timed. */
type Ready = () => Promise<() => Promise<unknown>>;

/**
 * Times `repetitions` runs of two things, in milliseconds. Prepares them in batches, then runs them in pairs that each starts equally
 * often, so that effects of the preparation on caches and the event loop are the same for both.
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
