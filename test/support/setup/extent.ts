import * as z from "zod/mini";

const Extent = z._default(z.enum(["sample", "most", "all"]), "sample");
type Extent = z.infer<typeof Extent>;

/**
 * How much of an exhaustive suite runs. `npm test` runs a sample, `npm run test:faults` most of it, and `npm run test:faults --
 * --full` all of it.
 */
export const extent = z.parse(Extent, process.env.TEST_EXTENT);

/** Whether more than a sample runs. Tests that take long and resemble shorter ones run only then. */
export const exhaustive = extent !== "sample";

export const byExtent = <T>(choices: Readonly<Record<Extent, T>>): T => choices[extent];

/** Takes every `stride`th case. A stride that is coprime to the period of a list includes each of its kinds. */
export const sampleOf = <T>(cases: readonly T[], stride: number): T[] =>
  cases.filter((_, index) => index % stride === 0);
