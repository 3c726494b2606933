import * as z from "zod/mini";
import { checkoutLimits } from "../../../shared/checkout/limits.ts";
import { checkOut } from "../servers/workflow.ts";

/**
 * A process to be killed: runs each order's checkout up to its moment (`before checkout/seal`, `after PUT`), prints the order's
 * id, and stops there.
 */
const Orders = z.array(z.object({ order: z.string(), moment: z.string(), run: z.string() }));

const stopIn = (order: string) => () => {
  console.log(order);
  return new Promise<never>(() => {});
};

const momentsOfCalls = new Map<string, string>();
const { fetch } = globalThis;

/** Intercepts the calls to the carrier. Calls of the same kind stop together, and one of them prints the order's id. */
globalThis.fetch = async (input, init) => {
  const order = /\/carts\/([^/]+)/.exec(String(input))?.[1] ?? "";
  const moment = momentsOfCalls.get(order);
  if (moment === `before ${init?.method}`) return stopIn(order)();
  const response = await fetch(input, init);
  return moment === `after ${init?.method}` ? stopIn(order)() : response;
};

// Calls end with this process, so the next run need not wait for them.
Object.assign(checkoutLimits, { graceSeconds: 0 });

// Keeps the process alive once all checkouts have stopped.
setInterval(() => {}, 60_000);

for (const { order, moment, run } of z.parse(Orders, JSON.parse(process.argv[2] ?? "[]"))) {
  const [when, what = ""] = moment.split(" ");
  if (!what.startsWith("checkout/")) momentsOfCalls.set(order, moment);
  const hooks = { [what]: [stopIn(order)] };
  const options = when === "before" ? { before: hooks } : { after: hooks };
  void checkOut(order, options, run);
}
