import { skipped, type Verdict } from "../cli/diagnosis.ts";
import { type Answer, ChecksStopped, type Sign } from "./carrier-calls.ts";
import { openCart } from "./carrier-cart.ts";
import { checkoutChecks, optionalChecks } from "./carrier-checkout-checks.ts";
import { letterChecks } from "./carrier-letter-checks.ts";

/**
 * Plays docs/carrier.md against a carrier. It makes the calls of a checkout, right ones and wrong ones, for an order of its own.
 * What the cart has shows only in the response to a wrong manifest. So each check makes its calls, and is judged after all of them.
 */

/** The checks are in the order of their calls. */
const checks = [...letterChecks, ...checkoutChecks];

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** The times of the calls that got a response, in milliseconds. */
const latenciesOf = (answers: readonly Answer[]) => {
  const kindOf = ({ call: { method, letter: sent } }: Answer) =>
    (sent?.content.length ?? 0) > 1_000_000 ? `${method} of 10 MB` : method;
  return [
    ...Map.groupBy(
      answers.filter(({ status }) => status !== null),
      kindOf,
    ),
  ].map(([call, some]) => {
    const times = some.map(({ ms }) => Math.round(ms));
    return { call, responses: times.length, median_ms: median(times), longest_ms: Math.max(...times) };
  });
};

export const afterFailure = "an earlier call has failed";

/** Makes the calls of all checks, then judges them. With `sign`, the calls go to the adapter function. */
export const playContract = async (order: string, token: string | undefined, sign?: Sign) => {
  const cart = await openCart(order, token, sign);
  const judges: (() => Verdict)[] = [];
  let end: Verdict | undefined;
  for (const [, run] of checks) {
    if (end) {
      judges.push(() => skipped(afterFailure));
      continue;
    }
    const stop = (error: unknown) => {
      if (!(error instanceof ChecksStopped)) throw error;
      end = error.verdict;
      return () => error.verdict;
    };
    judges.push(await run(cart).catch(stop));
  }
  const diagnoses = checks.flatMap((check, index) => {
    const verdict = judges[index]?.();
    return verdict ? { check: check[0], required: !optionalChecks.includes(check), ...verdict } : [];
  });
  return { diagnoses, latencies: latenciesOf(cart.answers) };
};
