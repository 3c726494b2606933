import type { Command } from "commander";
import { withoutResult } from "../../../shared/checkout/checkout-schema.ts";
import { type EventChange, StoredEvent } from "../../../shared/history/event.ts";
import { collections, type EventSubject, type Key, keys } from "../../../shared/table/keys.ts";
import { get, getMany, lookUp, parseItem, parseReadable, queryAll } from "../../../shared/table/read.ts";
import { readAccount } from "../../../shared/tenants/accounts.ts";
import { findKey, ifDenied, inOrder, keyByReference, throwNotFound } from "../cli/lookups.ts";
import { type Format, printHeading, printJson, type Row, table } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { add } from "../cli/usage.ts";

/** Yields the events of an order, a request, a switch, an account, a user or an API key, oldest first or newest first. */
export async function* historyOf(subject: EventSubject, { newestFirst = false } = {}): AsyncGenerator<StoredEvent> {
  const isBefore = (one: StoredEvent, other: StoredEvent) => (newestFirst ? one.id > other.id : one.id < other.id);
  const stored = await Array.fromAsync(queryAll(collections.downloads(subject), { newestFirst }));
  const downloads = parseReadable(StoredEvent, stored);
  for await (const item of queryAll(collections.events(subject), { newestFirst }))
    for (const event of parseReadable(StoredEvent, [item])) {
      while (downloads[0] && isBefore(downloads[0], event)) yield* downloads.splice(0, 1);
      yield event;
    }
  yield* downloads;
}

/** The latest events of each subject, at most `most` of each, oldest first. */
export const latestEvents = async (subjects: readonly EventSubject[], most: number): Promise<StoredEvent[]> => {
  const read = async (subject: EventSubject) => {
    const events: StoredEvent[] = [];
    for await (const event of historyOf(subject, { newestFirst: true })) if (events.push(event) >= most) break;
    return events;
  };
  const all = (await Array.fromAsync(inOrder(subjects, 10, read))).flat();
  return all.sort((a, b) => (a.id < b.id ? -1 : 1));
};

/** What an account was called at a time, in ISO 8601. */
type NameAt = (time: string) => string | undefined;

/** An account's events record each change of its name. So its name at a time is the one that the next change replaced. */
const nameOfAccount = async (id: string): Promise<NameAt> => {
  const [account, events] = await Promise.all([readAccount(id), Array.fromAsync(historyOf({ type: "account", id }))]);
  const renames = events.flatMap(({ at, changes }) => (changes?.name ? [{ at, from: String(changes.name.from) }] : []));
  return (time) => renames.find(({ at }) => at > time)?.from ?? account?.name;
};

const namesOfAccounts = async (ids: readonly string[]): Promise<ReadonlyMap<string, NameAt>> =>
  new Map(await Promise.all([...new Set(ids)].map(async (id) => [id, await nameOfAccount(id)] as const)));

/** The names of the accounts of the API keys that made changes, by the keys' ids. */
type Callers = ReadonlyMap<string, NameAt | undefined>;

const callersOf = async (events: readonly StoredEvent[]): Promise<Callers> => {
  const ids = new Set(events.flatMap(({ actor }) => (actor.type === "api_key" ? [actor.id] : [])));
  const found = (await Promise.all([...ids].map(findKey))).filter((key) => key !== undefined);
  const names = await namesOfAccounts(found.map(({ account }) => account));
  return new Map(found.map(({ id, account }) => [id, names.get(account)]));
};

/** A change of a list shows only the elements that differ. */
const describeChange = ([name, { from, to, omitted }]: [string, EventChange]): string => {
  if (!Array.isArray(from) || !Array.isArray(to)) return `${name}: ${JSON.stringify(from)} -> ${JSON.stringify(to)}`;
  const added = to.filter((one) => !from.includes(one)).map((one) => `+${one}`);
  const removed = from.filter((one) => !to.includes(one)).map((one) => `-${one}`);
  return [`${name}:`, ...added, ...removed, ...(omitted ? [`and ${omitted} more`] : [])].join(" ");
};

const actorOf = ({ actor, at }: StoredEvent, callers: Callers) =>
  actor.type === "api_key"
    ? `${callers.get(actor.id)?.(at) ?? "-"}: key ${actor.id}, user ${actor.user}`
    : [`${actor.type} ${actor.id}`, actor.on_behalf_of].filter(Boolean).join(" on behalf of ");

/** Returns the event that stays of an erased account, if there is one. */
export const erasureOf = async (account: string): Promise<StoredEvent | undefined> => {
  const found = await getMany(await lookUp(account));
  const erased = found.find((item) => item?.type === "account.erased");
  return erased && parseItem(StoredEvent, erased);
};

const deletionEvent = async (subject: EventSubject, id: string): Promise<StoredEvent | undefined> => {
  if (subject.type === "account") return erasureOf(id);
  for await (const event of historyOf(subject, { newestFirst: true }))
    if (event.resource.id === id && event.type.endsWith(".deleted")) return event;
};

/** Returns when an item in the history of `subject` was deleted, and by whom. Returns undefined if no event records it. */
export const deletionOf = async (subject: EventSubject, id: string): Promise<string | undefined> => {
  const event = await deletionEvent(subject, id);
  return event && `${event.at} by ${actorOf(event, await callersOf([event]).catch(ifDenied<Callers>(new Map())))}`;
};

export const historyCommand = ({ type, id }: EventSubject): string => `\`history ${type.replace("api_", "")} ${id}\``;

/** The column about responses exists only if an event has one. */
export const rowsOf = async (events: readonly StoredEvent[]): Promise<Row[]> => {
  const about = events.flatMap(({ resource: { type, id } }) => (type === "account" ? [id] : []));
  const [names, callers] = await Promise.all([namesOfAccounts(about), callersOf(events)]);
  const hasResponse = events.some(({ answer, late, reason, outcome }) => answer || late || reason || outcome);
  return events.map((event) => {
    const { at, type, resource, name, answer, outcome, late, reason, changed, changes } = event;
    const said = answer && [answer.status, answer.text].filter(Boolean).join(" ");
    const response = [outcome, late && "after the checkout", reason, said].filter(Boolean).join(": ") || null;
    return {
      time: at,
      event: type,
      id: resource.id,
      name: name ?? names.get(resource.id)?.(at),
      actor: actorOf(event, callers),
      changed: changes ? Object.entries(changes).map(describeChange) : changed,
      ...(hasResponse && { "response or reason": response }),
    };
  });
};

/** The files that events are evidence of, each once. An event of a refusal has the filename only. */
export const filesOf = (events: readonly StoredEvent[]): Row[] => {
  const rows = events.flatMap(({ resource: { id }, name, filename, file }) =>
    filename !== undefined || file ? [{ id, name, filename, bytes: file?.bytes, sha256: file?.sha256 }] : [],
  );
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
};

const latest = 5;

export const printLatest = async (subject: EventSubject): Promise<void> => {
  const events = await latestEvents([subject], latest);
  printHeading("Last events");
  console.log(table(await rowsOf(events), { whole: true }));
};

/** Returns how and why the last runs of a checkout ended, newest first. `started` is the number of its runs. */
export const lastRuns = async (id: string, started: number) => {
  const runs: { run: string; status: string; ended_at: string; reason: string | null }[] = [];
  const wanted = Math.min(latest, started);
  for await (const { type, at, actor, reason = null } of wanted > 0
    ? historyOf({ type: "order", id }, { newestFirst: true })
    : [])
    if (actor.type === "checkout") {
      const failed = reason?.includes(withoutResult) ? "CRASHED" : "FAILED";
      const status = type === "order.checked_out" ? "SUCCEEDED" : failed;
      if (runs.push({ run: actor.id, status, ended_at: at, reason }) === wanted) break;
    }
  return runs;
};

/** If there are no events, `key` distinguishes an item without a history from an unknown id. */
const printHistory = async (subject: EventSubject, { json }: Format, key?: Key): Promise<void> => {
  const events = await withProgress(() => Array.fromAsync(historyOf(subject)), "Reading the history …");
  const erased = events.length === 0 && subject.type === "account" ? await erasureOf(subject.id) : undefined;
  if (erased) events.push(erased);
  if (events.length === 0 && key && !(await get(key)))
    await throwNotFound(subject.type, subject.id, "it has no events, either");
  if (json) return printJson({ events });
  console.log(table(await rowsOf(events), { whole: true }));
  const files = filesOf(events);
  if (files.length === 0) return;
  printHeading("Files that were sent or deleted");
  console.log(table(files, { whole: true }));
};

const described = {
  order: { what: "an order, its attachments and its checkouts", keyOf: keys.order },
  request: { what: "a request and its attachments", keyOf: keys.request },
  switch: { what: "a switch, even after it was deleted", keyOf: keys.switch },
  account: { what: "an account", keyOf: keys.account },
  user: { what: "a user", keyOf: keys.user },
};

export const addHistoryCommands = (history: Command): void => {
  for (const [type, { what, keyOf }] of Object.entries(described))
    add(history, `${type} <id>`, `print what happened to ${what}, oldest first`).action((id: string, format: Format) =>
      printHistory({ type, id }, format, keyOf(id)),
    );
  add(history, "key <id>", "print what happened to an API key, oldest first").action(
    async (reference: string, format: Format) =>
      printHistory({ type: "api_key", id: (await keyByReference(reference)).id }, format),
  );
};
