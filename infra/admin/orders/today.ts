import { SFN } from "@aws-sdk/client-sfn";
import type { Command } from "commander";
import pLimit from "p-limit";
import { isOpen } from "../../../shared/checkout/checkout-run.ts";
import { CheckoutRun } from "../../../shared/checkout/checkout-schema.ts";
import { orderOf } from "../../../shared/checkout/execution.ts";
import { clientSettings } from "../../../shared/deadline.ts";
import { env } from "../../../shared/env.ts";
import { StoredEvent } from "../../../shared/history/event.ts";
import type { Item } from "../../../shared/table/expressions.ts";
import { collections, keys } from "../../../shared/table/keys.ts";
import { getMany, parseItem, parseReadable, query } from "../../../shared/table/read.ts";
import { readAccount } from "../../../shared/tenants/accounts.ts";
import { readOrder } from "../../../shared/tenants/orders.ts";
import { explain } from "../cli/command-errors.ts";
import { isBeingErased } from "../cli/lookups.ts";
import { type Format, printHeading, printJson, type Row, table } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { cutOf, maxCounted, maxShown, type Section, totalOf } from "../cli/section.ts";
import { add } from "../cli/usage.ts";
import { runQuickChecks } from "../doctor/doctor.ts";
import { failureOf, readActualRun } from "../history/actual-run.ts";
import { describeChanges, lateOrders, newestLateChanges } from "./late.ts";
import { commandFor } from "./start-checkout.ts";

/** What an operator on call looks at first. Reads at most 7,000 items, however many orders the table has. */

/** At most this many runs of Step Functions are listed, and this many events of each order read. */
const [maxRuns, eventsOfOrder] = [100, 10];
const hourMs = 3_600_000;

/** The customers of orders, by the orders' ids. Orders of an account that is being erased are left out. */
const customersOf = async (orders: readonly string[]): Promise<ReadonlyMap<string, string>> => {
  const read = async (id: string) => {
    const order = await readOrder(id);
    const account = order && (await readAccount(order.account));
    const isErased = order && !account && (await isBeingErased(order));
    return isErased ? [] : [[id, account?.name ?? "-"] as const];
  };
  return new Map((await Promise.all([...new Set(orders)].map(read))).flat());
};

type OpenRun = Pick<CheckoutRun, "status" | "reason" | "failure"> &
  Partial<CheckoutRun> & { readonly order: string; readonly since: string };

/** A damaged item hides no other. It counts as failed, and its reason names it. */
const openRun = (order: string, item: Item | undefined): OpenRun => {
  try {
    const run = parseItem(CheckoutRun, item);
    return { ...run, order, since: run.ended_at ?? run.started_at };
  } catch (error) {
    return { order, since: "", status: "FAILED", failure: null, reason: explain(error) };
  }
};

const newestFirst = (one: { readonly since: string }, other: { readonly since: string }) =>
  one.since < other.since ? 1 : -1;

/** The newest orders whose checkout has started and not succeeded. Step Functions is asked about the shown ones only. */
const openRuns = async () => {
  const entries = await query(collections.openCheckouts(), { limit: maxCounted + 1, descending: true });
  const ids = entries.slice(0, maxCounted).map(({ id }) => String(id));
  const items = await getMany(ids.map(keys.checkout));
  const stored = ids.map((id, nth) => openRun(id, items[nth])).sort(newestFirst);
  const inProgress = stored.filter(isOpen);
  const actual = await pLimit(10).map(inProgress.slice(0, maxShown), async (run) => {
    const last = await readActualRun(run.order);
    return last ? { ...run, ...last } : run;
  });
  const ended = actual.filter((run) => !isOpen(run));
  const failed = [...stored.filter((run) => !isOpen(run)), ...ended].sort(newestFirst);
  const waiting = [...actual.filter(isOpen), ...inProgress.slice(maxShown)];
  return { failed, waiting, isMore: entries.length > maxCounted };
};
type OpenRuns = Awaited<ReturnType<typeof openRuns>>;

type ShownRun = OpenRuns["failed"][number];

const runsSection = async (
  runs: readonly ShownRun[],
  isMore: boolean,
  valuesOf: (run: ShownRun) => Row,
  texts: Pick<Section, "title" | "rest" | "none">,
): Promise<Section> => {
  const newest = runs.slice(0, maxShown);
  const customers = await customersOf(newest.map(({ order }) => order));
  const shown = newest.filter(({ order }) => customers.has(order));
  const rows = shown.map((run) => ({
    customer: customers.get(run.order),
    id: run.order,
    since: run.since,
    ...valuesOf(run),
  }));
  return { ...texts, of: "order", rows, total: totalOf(runs.length - newest.length + shown.length, isMore) };
};

const failedSection = ({ failed, isMore }: OpenRuns) =>
  runsSection(
    failed,
    isMore,
    (run) => ({
      failure: run.status === "CRASHED" ? "CRASHED" : failureOf(run),
      reason: run.reason,
      command: commandFor(run.order, run),
    }),
    {
      title: "Failed checkouts",
      rest: "order list --failed",
      none: "No checkout has failed: each that was started has succeeded or is in progress.",
    },
  );

const waitingSection = ({ waiting, isMore }: OpenRuns) =>
  runsSection(
    waiting,
    isMore,
    ({ order, status, reason, last_answer, next_try_at }) => ({
      status: next_try_at ? "waiting" : status,
      until: next_try_at,
      "waits for": next_try_at ? (last_answer ?? "the carrier") : reason,
      command: commandFor(order, undefined),
    }),
    { title: "Checkouts in progress", rest: "order list --waiting", none: "No checkout is in progress." },
  );

/** What only the customer knows of, who got a 201. */
const lateSection = async (): Promise<Section> => {
  const found = await newestLateChanges(maxCounted);
  const orders = await lateOrders({}, found);
  const rows = orders.slice(0, maxShown).map(({ id, name, at, changes }) => ({
    customer: name,
    id,
    at,
    letters: describeChanges(changes.slice(0, 5)) + (changes.length > 5 ? `, and ${changes.length - 5} more` : ""),
    command: `order acknowledge ${id} --reason <text>`,
  }));
  const none = "No letter came too late: the carrier has each that was stored before its order's checkout.";
  const total = totalOf(orders.length, found.length === maxCounted);
  return { title: "Letters that came after the checkout", of: "order", rows, total, rest: "order list --late", none };
};

/** A run's order is in its name, if the CLI has started it. Step Functions has the input of others. */
const orderOfExecution = async (name = "", executionArn = "") =>
  /^checkout-(\w{26})-\d+$/.exec(name)?.[1] ?? (await orderOf({ executionArn }));

/**
 * Events are stored with what they are about, so there is no list of all. Step Functions lists the last runs, and their orders have
 * the events. Changes of other orders, of requests and of accounts are not among them.
 */
const lastHour = async (now: Date): Promise<Section> => {
  const from = new Date(now.getTime() - hourMs);
  const page = { stateMachineArn: env.stateMachineArn(), maxResults: maxRuns };
  const { executions = [] } = await new SFN(clientSettings(5_000)).listExecutions(page);
  const recent = executions.filter(({ startDate, stopDate }) => (stopDate ?? startDate ?? now) >= from);
  const orders = await pLimit(10).map(recent, ({ name, executionArn }) => orderOfExecution(name, executionArn));
  const ids = [...new Set(orders.filter((id) => id !== undefined))];
  const read = (id: string) =>
    query(collections.events({ type: "order", id }), { limit: eventsOfOrder, descending: true });
  const customers = await customersOf(ids);
  const events = parseReadable(StoredEvent, (await pLimit(10).map([...customers.keys()], read)).flat())
    .filter(({ at }) => at >= from.toISOString())
    .sort((one, other) => (one.id < other.id ? 1 : -1));
  const rows = events.slice(0, maxShown).map(({ at, type, resource, parent, name, actor }) => {
    const order = resource.type === "order" ? resource.id : (parent?.id ?? resource.id);
    return {
      customer: customers.get(order),
      id: order,
      time: at,
      event: type.replace("order.", ""),
      name,
      actor: actor.type,
    };
  });
  const note = `Events of the orders with one of the last ${maxRuns} runs of Step Functions, the latest ${eventsOfOrder} of each. Changes of accounts, keys and switches are in their \`history\`.`;
  const none = "No order with a recent run has an event of the last hour.";
  return {
    title: "The last hour",
    of: "order",
    note,
    rows,
    total: totalOf(events.length, recent.length === maxRuns),
    rest: "history order <id>",
    none,
  };
};

const checks = async (): Promise<Section> => {
  const found = await runQuickChecks();
  const rows = found.flatMap(({ check, ...row }) =>
    row.status === "ok" || row.status === "skipped" ? [] : [{ check, ...row }],
  );
  const names = found.flatMap(({ check, status }) => (status === "ok" ? [check] : [])).join(", ");
  const none = `Nothing is wrong with ${names}. \`doctor\` also writes an item and a file.`;
  return { title: "What doctor says now", of: "", rows, total: rows.length, rest: "doctor", none };
};

/** A list that cannot be read says why, and leaves the others. */
const orError = (title: string, rest: string, section: Promise<Section>): Promise<Section> =>
  section.catch((error: unknown) => {
    const rows = [{ status: "FAULT", found: explain(error) }];
    return { title: `${title} cannot be read`, of: "", rows, total: 1, rest, isUnread: true };
  });

export const today = async (now: Date) => {
  const runs = openRuns();
  const [failed, waiting, late, doctor, events] = await Promise.all([
    orError("Failed checkouts", "order list --failed", runs.then(failedSection)),
    orError("Checkouts in progress", "order list --waiting", runs.then(waitingSection)),
    orError("Letters that came after the checkout", "order list --late", lateSection()),
    orError("What doctor says", "doctor", checks()),
    orError("The last hour", "doctor", lastHour(now)),
  ]);
  return { failed, waiting, late, doctor, events };
};
export type Today = Awaited<ReturnType<typeof today>>;

/** What is wrong, in a line. The sections of an all-clear say what was looked at. */
export const verdictOf = (found: Today): string => {
  const unread = Object.values(found).flatMap(({ isUnread, title }) => (isUnread ? [title] : []));
  const { failed, late, doctor } = found;
  const counted = [
    [failed, "failed"],
    [late, "with late letters"],
    [doctor, "reported by doctor"],
  ] as const;
  const wrong = counted.flatMap(([{ total, isUnread }, words]) =>
    total === 0 || isUnread ? [] : [`${total} ${words}`],
  );
  const progress = found.waiting.total === 0 ? "no checkout in progress" : `${found.waiting.total} in progress`;
  return [...unread, ...wrong].join(", ") || `All clear, ${progress}`;
};

const shownInTerminal = 10;

const print = async ({ json }: Format): Promise<void> => {
  const found = await withProgress(() => today(new Date()), "Reading the open checkouts …");
  if (json) return printJson(found);
  console.log(verdictOf(found));
  for (const section of Object.values(found)) {
    printHeading(section.title);
    const rows = section.rows.slice(0, shownInTerminal);
    const cut = rows.length > 0 && cutOf(section.total, rows.length);
    console.log(rows.length > 0 ? table(rows, { whole: true }) : section.none);
    if (cut) console.log(`${cut}\`${section.rest}\``);
  }
};

export const addTodayCommand = (program: Command): void => {
  add(
    program,
    "today",
    "print what failed, what is in progress, which letters came too late, what doctor says, and the last hour",
  ).action(print);
};
