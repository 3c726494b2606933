import * as z from "zod/mini";
import { checkOut } from "../servers/workflow.ts";

/**
 * A process to be killed: runs each order's checkout up to its moment (`before checkout/seal`, `after PUT`), says
 * so with the order's id on a line, and goes no further with it.
 */
const Orders = z.array(z.object({ order: z.string(), moment: z.string(), run: z.string() }));

const stuckIn = (order: string) => () => {
  console.log(order);
  return new Promise<never>(() => {});
};

const momentsOfCalls = new Map<string, string>();
const { fetch } = globalThis;

/** The carrier's calls; all of the same kind stop at once, and one of them says so. */
globalThis.fetch = async (input, init) => {
  const order = /\/carts\/([^/]+)\//.exec(String(input))?.[1] ?? "";
  const moment = momentsOfCalls.get(order);
  if (moment === `before ${init?.method}`) return stuckIn(order)();
  const answer = await fetch(input, init);
  return moment === `after ${init?.method}` ? stuckIn(order)() : answer;
};

// Nothing else keeps the process alive once all are stuck.
setInterval(() => {}, 60_000);

for (const { order, moment, run } of z.parse(Orders, JSON.parse(process.argv[2] ?? "[]"))) {
  const [when, what = ""] = moment.split(" ");
  if (!what.startsWith("checkout/")) momentsOfCalls.set(order, moment);
  const meanwhile = { [what]: [stuckIn(order)] };
  const options = when === "before" ? { before: meanwhile } : { after: meanwhile };
  checkOut(order, options, run);
}
