import pLimit from "p-limit";
import * as z from "zod/mini";
import { readRun } from "../../../shared/checkout/checkout-run.ts";
import { carrierOf } from "../../../shared/checkout/checkout-schema.ts";
import { env } from "../../../shared/env.ts";
import { collections } from "../../../shared/table/keys.ts";
import { leaveOut, parseReadable, query } from "../../../shared/table/read.ts";
import type { Notice } from "./first-day.ts";

/** After a change of the name, even few orders show the former one. */
const ordersToRead = 100;
const atOnce = 10;

/** Returns which other carriers the oldest open orders were sent to. The next run sends such an order to this carrier completely. */
export const checkCarrierName = async (): Promise<string | Notice> => {
  if (!process.env.CARRIER_NAME) return { notice: "the target has none", remedy: "Set CARRIER_NAME." };
  const name = env.carrierName();
  const listed = await query(collections.openCheckouts(), { limit: ordersToRead });
  const orders = parseReadable(z.object({ id: z.string() }), listed);
  const runs = await pLimit(atOnce).map(orders, ({ id }) => readRun(id).catch(leaveOut));
  const sentTo = runs.flatMap((run) => (run ? [carrierOf(run.cart)] : []));
  const counts = Object.entries(Object.groupBy(sentTo, (carrier) => carrier));
  const others = counts.filter(([carrier]) => carrier !== name);
  if (others.length === 0) return name;
  const found = others.map(([carrier, all = []]) => `${carrier} has ${all.length}`).join(", ");
  return {
    notice: `it is ${name}, but of the ${sentTo.length === ordersToRead ? "oldest " : ""}${sentTo.length} open orders, ${found}`,
    remedy: 'Their next run sends them to this carrier completely: see "Another carrier" in infra/runbook.md.',
  };
};
