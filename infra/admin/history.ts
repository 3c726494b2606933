import type { Command } from "commander";
import * as z from "zod/mini";
import { Receipt } from "../../shared/checkout/checkout-schema.ts";
import { type Event, type EventChange, StoredEvent } from "../../shared/history/event.ts";
import { collections, type EventSubject, type Key, keys } from "../../shared/table/keys.ts";
import { get, getMany, parseItem, query, queryAll } from "../../shared/table/read.ts";
import { forwardableRequests, readRequest } from "../../shared/tenants/orders.ts";
import { CommandError } from "./command-errors.ts";
import { accountNames, findKey, keyByReference, parseId } from "./find.ts";
import { format, printHeading, printJson, type Row, table } from "./output.ts";
import { withProgress } from "./progress.ts";

/** Yields the events of an order, a request, a switch, an account, a user or an API key, oldest first. */
export async function* historyOf(subject: EventSubject): AsyncGenerator<StoredEvent> {
  for await (const item of queryAll(collections.events(subject))) yield parseItem(StoredEvent, item);
}

/** The key of what an event is about, if that has a name. An order's attachment is also forwarded under its requests. */
const namedKey = ({ resource: { type, id }, parent }: Event, order: string | undefined): Key | undefined => {
  if (type === "switch") return keys.switch(id);
  if (type === "account") return keys.account(id);
  if (type === "order_attachment" && order !== undefined) return keys.attachment({ type: "order", id: order }, id);
  if (parent?.type !== "order" && parent?.type !== "request") return undefined;
  return keys.attachment({ type: parent.type, id: parent.id }, id);
};

const Named = z.object({ id: z.string(), name: z.string() });

/** The names of what the events are about, by id, as far as it exists today. */
const namesOf = async (events: readonly Event[], subject: EventSubject): Promise<ReadonlyMap<string, string>> => {
  const order = subject.type === "request" ? (await readRequest(subject.id))?.order : undefined;
  const found = await getMany(events.flatMap((event) => namedKey(event, order) ?? []));
  const named = found.flatMap((item) => z.safeParse(Named, item).data ?? []);
  return new Map(named.map(({ id, name }) => [id, name]));
};

/** The names of the accounts of the API keys that made changes, by the keys' ids. */
const callersOf = async (events: readonly Event[]): Promise<ReadonlyMap<string, string | undefined>> => {
  const ids = new Set(events.flatMap(({ actor }) => (actor.type === "api_key" ? [actor.id] : [])));
  const found = (await Promise.all([...ids].map(findKey))).filter((key) => key !== undefined);
  const names = await accountNames(found);
  return new Map(found.map(({ id, account }) => [id, names.get(account)]));
};

/** What the carrier was sent of the attachments: an order's, under the first of its requests that has a receipt. */
const receiptsOf = async (events: readonly Event[]): Promise<ReadonlyMap<string, Receipt>> => {
  const found = events.map(async ({ type, resource, parent }) => {
    if (!parent || !/_attachment\.(deleted|forwarded|refused|withdrawn)$/.test(type)) return [];
    const requests = parent.type === "order" ? await forwardableRequests(parent.id) : [parent.id];
    const items = await getMany(requests.map((id) => keys.receipt(id, resource.id)));
    const [item] = items.filter((each) => each !== undefined);
    return item ? [[`${parent.id} ${resource.id}`, parseItem(Receipt, item)] as const] : [];
  });
  return new Map((await Promise.all(found)).flat());
};

/** Of lists, only what differs. */
const describeChange = ([name, { from, to, omitted }]: [string, EventChange]): string => {
  if (!Array.isArray(from) || !Array.isArray(to)) return `${name}: ${JSON.stringify(from)} -> ${JSON.stringify(to)}`;
  const added = to.filter((one) => !from.includes(one)).map((one) => `+${one}`);
  const removed = from.filter((one) => !to.includes(one)).map((one) => `-${one}`);
  return [`${name}:`, ...added, ...removed, ...(omitted ? [`and ${omitted} more`] : [])].join(" ");
};

/** With receipts, also what was sent or deleted, if anything was. */
const rowsOf = async (
  events: readonly Event[],
  subject: EventSubject,
  receipts?: ReadonlyMap<string, Receipt>,
): Promise<Row[]> => {
  const [names, callers] = await Promise.all([namesOf(events, subject), callersOf(events)]);
  const hasEvidence = receipts && (receipts.size > 0 || events.some(({ file }) => file));
  return events.map(({ at, type, resource, actor, parent, file, changed, changes }) => {
    const receipt = receipts?.get(`${parent?.id} ${resource.id}`);
    const evidence = {
      filename: receipt?.sent.filename,
      bytes: file?.bytes ?? receipt?.bytes,
      sha256: file?.sha256 ?? receipt?.sha256,
      answer: receipt && ([receipt.status, receipt.answer].filter(Boolean).join(" ") || null),
    };
    return {
      time: at,
      what: type,
      id: resource.id,
      name: names.get(resource.id) ?? receipt?.sent.name,
      who:
        actor.type === "api_key"
          ? `${callers.get(actor.id) ?? "-"}: key ${actor.id}, user ${actor.user}`
          : [`${actor.type} ${actor.id}`, actor.on_behalf_of].filter(Boolean).join(" on behalf of "),
      changed: changes ? Object.entries(changes).map(describeChange) : changed,
      ...(hasEvidence && evidence),
    };
  });
};

export const printLatest = async (subject: EventSubject): Promise<void> => {
  const items = await query(collections.events(subject), { limit: 5, descending: true });
  const events = items.map((item) => parseItem(StoredEvent, item)).reverse();
  printHeading("Last events");
  console.log(table(await rowsOf(events, subject), { whole: true }));
};

/** Without events, `key` tells an item to which nothing has happened from an id with a typing error. */
const printHistory = async (subject: EventSubject, key?: Key): Promise<void> => {
  const events = await withProgress(() => Array.fromAsync(historyOf(subject)));
  if (events.length === 0 && key && !(await get(key)))
    throw new CommandError(`There is no ${subject.type} ${subject.id}, and no event of one.`);
  if (format.json) return printJson({ events });
  console.log(table(await rowsOf(events, subject, await receiptsOf(events)), { whole: true }));
};

const described = {
  order: { what: "an order, its attachments and its checkouts", keyOf: keys.order },
  request: { what: "a request and its attachments", keyOf: keys.request },
  switch: { what: "a switch, also if it is deleted", keyOf: keys.switch },
  account: { what: "an account", keyOf: keys.account },
  user: { what: "a user", keyOf: keys.user },
};

export const addHistoryCommands = (history: Command): void => {
  for (const [type, { what, keyOf }] of Object.entries(described))
    history
      .command(type)
      .description(`print what happened to ${what}, oldest first`)
      .argument("<id>", `the ${type}`, parseId)
      .action((id: string) => printHistory({ type, id }, keyOf(id)));
  history
    .command("key")
    .description("print what happened to an API key, oldest first")
    .argument("<id>", "the API key, or its id")
    .action(async (reference: string) => printHistory({ type: "api_key", id: (await keyByReference(reference)).id }));
};
