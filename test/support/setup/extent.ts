import * as z from "zod/mini";

const Extent = z._default(z.enum(["sample", "most", "all"]), "sample");
type Extent = z.infer<typeof Extent>;

/**
 * How much of an exhaustive suite runs: a sample with `npm test`, most of it with `npm run test:faults`, all of it with
 * `npm run test:faults -- --full`.
 */
export const extent = z.parse(Extent, process.env.TEST_EXTENT);

export const byExtent = <T>(choices: Readonly<Record<Extent, T>>): T => choices[extent];

/** Takes every `stride`th case. A stride that is coprime to the period of a list includes each of its kinds. */
export const sampleOf = <T>(cases: readonly T[], stride: number): T[] =>
  cases.filter((_, index) => index % stride === 0);
