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

export type Section = {
  readonly title: string;
  readonly notes?: readonly string[];
  readonly rows: readonly Readonly<Record<string, string | number>>[];
};

export const round = (value: number, digits = 2): number => Number(value.toFixed(digits));
