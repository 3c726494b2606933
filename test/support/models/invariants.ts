import * as z from "zod/mini";
import { checkInvariants as checkItems } from "../../../infra/admin/check/check.ts";
import { type Finding, violation } from "../../../infra/admin/check/check-finding.ts";
import { Receipt } from "../../../shared/checkout/checkout-schema.ts";
import { Event } from "../../../shared/history/event.ts";
import type { Item } from "../../../shared/table/expressions.ts";
import { keys } from "../../../shared/table/keys.ts";
import { queryAll, scan } from "../../../shared/table/read.ts";

/** Invariants that hold after every test that disturbs writes. Items are consistent, and each change has exactly one event. */

const rule = "events equal changes";
const actionOf = ({ type }: Event) => type.split(".")[1] ?? "";

/** Each version of an attachment or a switch has one event. A deleted one also has one event of its deletion. */
const documentFindings = (events: readonly Event[], versions: ReadonlyMap<string, number>): Finding[] => {
  const changes = events.filter((event) => /^(switch|\w+_attachment)\.(created|updated|deleted)$/.test(event.type));
  const byId = Map.groupBy(changes, ({ resource }) => resource.id);
  return [...new Set([...byId.keys(), ...versions.keys()])].flatMap((id) => {
    const all = (byId.get(id) ?? []).map((event) => `${actionOf(event)} ${event.resource.version}`).sort();
    const stored = versions.get(id);
    const last = stored ?? all.filter((one) => !one.startsWith("deleted")).length;
    const updates = Array.from({ length: Math.max(0, last - 1) }, (_, index) => `updated ${index + 2}`);
    const expected = ["created 1", ...updates, ...(stored === undefined ? [`deleted ${last}`] : [])].sort();
    return all.join() === expected.join() ? [] : [violation(rule, id, `${all} instead of ${expected}`)];
  });
};

/** The receipt has the carrier's last decision, and the attachment was not forwarded more often than that was announced. */
const receiptFindings = (events: readonly Event[], receipts: ReadonlyMap<string, Receipt>): Finding[] => {
  const decisions = events.filter(({ type }) => /\.(forwarded|refused|withdrawn)$/.test(type));
  const byReceipt = Map.groupBy(decisions, ({ parent, resource }) => `${parent?.id} ${resource.id}`);
  return [...new Set([...byReceipt.keys(), ...receipts.keys()])].flatMap((at) => {
    const all = (byReceipt.get(at) ?? []).map((event) => `${actionOf(event)} ${event.resource.version}`);
    const { state, version, attempts = 0 } = receipts.get(at) ?? {};
    const isAnnounced = all.filter((one) => one.startsWith("forwarded")).length <= attempts;
    if (isAnnounced && (state === "pending" || all.at(-1) === `${state} ${version}`)) return [];
    return [violation(rule, at, `${all} beside the receipt ${state} ${version}`)];
  });
};

const endings: Readonly<Record<string, string>> = {
  SUCCEEDED: "order.checked_out",
  FAILED: "order.checkout_failed",
  CRASHED: "order.checkout_failed",
};

/** A run has one event once it has ended, which reports how, and none before. Each run before the last of its order has failed. */
const runFindings = (events: readonly Event[], runs: ReadonlyMap<string, string>): Finding[] => {
  const ends = events.filter(({ type }) => /^order\.check/.test(type));
  const byRun = Map.groupBy(ends, ({ actor }) => actor.id);
  return [...new Set([...byRun.keys(), ...runs.keys()])].flatMap((run) => {
    const all = (byRun.get(run) ?? []).map(({ type }) => type);
    const status = runs.get(run);
    const expected = status === undefined ? all.slice(0, 1) : [endings[status]].filter(Boolean);
    return all.join() === expected.join() ? [] : [violation(rule, run, `${all} instead of ${expected}`)];
  });
};

const Latest = z.object({ run: z.string(), status: z.string(), earlier_runs: z.array(z.string()) });
const Versioned = z.object({ id: z.string(), version: z.number() });

const historyFindings = async (items: AsyncIterable<Item>): Promise<Finding[]> => {
  const events: Event[] = [];
  const versions = new Map<string, number>();
  const receipts = new Map<string, Receipt>();
  const runs = new Map<string, string>();
  for await (const item of items) {
    const [kind] = String(item.sk).split("#");
    if (kind === "EVENT") events.push(z.parse(Event, item));
    if (kind === "ATTACHMENT" || item.sk === "SWITCH") {
      const { id, version } = z.parse(Versioned, item);
      versions.set(id, version);
    }
    if (kind === "RECEIPT") {
      const receipt = z.parse(Receipt, item);
      receipts.set(`${String(item.pk).split("#")[1]} ${receipt.attachment}`, receipt);
    }
    if (kind === "CHECKOUT") {
      const { run, status, earlier_runs } = z.parse(Latest, item);
      runs.set(run, status);
      for (const earlier of earlier_runs) runs.set(earlier, "FAILED");
    }
  }
  const ofReceipts = receiptFindings(events, receipts);
  return [...documentFindings(events, versions), ...ofReceipts, ...runFindings(events, runs)];
};

/** Checks the whole table and bucket. */
export const checkInvariants = async (now: Date): Promise<Finding[]> => [
  ...(await checkItems(now)),
  ...(await historyFindings(scan())),
];

async function* itemsOf(order: string): AsyncGenerator<Item> {
  const requests: string[] = [];
  const { pk } = keys.order(order);
  for await (const { id } of queryAll({ pk, prefix: "REQUEST#" })) requests.push(keys.request(String(id)).pk);
  for (const partition of [pk, ...requests])
    for (const prefix of ["ATTACHMENT#", "EVENT#", "RECEIPT#", "CHECKOUT"]) yield* queryAll({ pk: partition, prefix });
}

/** Checks the history of one order and its requests, which must not change meanwhile. */
export const checkHistory = (order: string): Promise<Finding[]> => historyFindings(itemsOf(order));
