import http from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { Writable } from "node:stream";
import * as z from "zod/mini";
import { checkOut } from "../servers/workflow.ts";

/**
 * A process that a test kills. It runs each order's checkout up to its moment (`before checkout/submit`, `after PUT`), prints the
 * order's id, and stops there.
 */
const Orders = z.array(z.object({ order: z.string(), moment: z.string(), run: z.string() }));

const stopIn = (order: string) => () => {
  console.log(order);
  return new Promise<never>(() => {});
};

const momentsOfCalls = new Map<string, string>();
const { request } = http;

/** Intercepts the calls to the carrier. Calls of the same kind stop together, and one of them prints the order's id. */
const intercepted = (url: URL, options: http.RequestOptions) => {
  const order = /\/carts\/([^/]+)/.exec(url.pathname)?.[1] ?? "";
  const moment = momentsOfCalls.get(order);
  if (moment === `before ${options.method}`) {
    console.log(order);
    return new Writable({ write: (_chunk, _encoding, done) => done() });
  }
  const outgoing = request(url, options);
  if (moment === `after ${options.method}`) {
    const emit = outgoing.emit.bind(outgoing);
    const held = (name: string, ...values: unknown[]) => {
      if (name !== "response") return emit(name, ...values);
      console.log(order);
      return true;
    };
    Object.assign(outgoing, { emit: held });
  }
  return outgoing;
};
Object.assign(http, { request: intercepted });
syncBuiltinESMExports();

// Keeps the process alive once all checkouts have stopped.
setInterval(() => {}, 60_000);

for (const { order, moment, run } of z.parse(Orders, JSON.parse(process.argv[2] ?? "[]"))) {
  const [when, what = ""] = moment.split(" ");
  if (!what.startsWith("checkout/")) momentsOfCalls.set(order, moment);
  const hooks = { [what]: [stopIn(order)] };
  const options = when === "before" ? { before: hooks } : { after: hooks };
  void checkOut(order, options, run);
}
