import type { StoredEvent } from "../../shared/history/event.ts";
import { readSwitch } from "../../shared/switches/read.ts";
import type { EventSubject } from "../../shared/table/keys.ts";
import { accountDetails } from "../admin/accounts/accounts.ts";
import { keyRow } from "../admin/accounts/keys.ts";
import { switchesOf, switchRow, withoutSecrets } from "../admin/accounts/switches.ts";
import { userRow } from "../admin/accounts/users.ts";
import { CommandError } from "../admin/cli/command-errors.ts";
import * as lookups from "../admin/cli/lookups.ts";
import type { Row } from "../admin/cli/output.ts";
import { readActualRun } from "../admin/history/actual-run.ts";
import { findAttachment } from "../admin/history/find-attachment.ts";
import { placesOf } from "../admin/history/find-command.ts";
import { lastRuns, latestEvents, rowsOf } from "../admin/history/history.ts";
import { openCheckouts } from "../admin/orders/checkout.ts";
import { listedOrders } from "../admin/orders/orders.ts";
import { orderReport } from "../admin/orders/report.ts";
import { letterRows, orderRecord } from "../admin/orders/show-order.ts";
import { type Html, html, record, table } from "./html.ts";
import { picture } from "./picture.ts";

/** The pages of the console show what the CLI's commands print, by the same functions. */

/** `commands` change what the page shows, or say more. While it is `live`, the browser reads it again. */
export type Page = Readonly<{ title: string; body: Html; commands?: readonly string[]; live?: boolean }>;

const [atMost, maxEvents] = [100, 3_000];

const history = async (events: readonly StoredEvent[]): Promise<Html> => {
  const title = events.length > atMost ? `The latest ${atMost} events` : "History";
  return table(title, await rowsOf(events.slice(-atMost).reverse()));
};

const named = ({ id, name }: { readonly id: string; readonly name: string }) => ({ id, name });

const home = async (): Promise<Page> => {
  const open = await openCheckouts();
  const more = open.length > atMost && html`<p>${open.length - atMost} more: <code>order list --failed</code></p>`;
  const none = "Every checkout that was started has succeeded.";
  const accounts = (await lookups.childAccounts(null)).slice(0, atMost).map(named);
  const body = html`${table("Checkouts that have not succeeded", open.slice(0, atMost), none)}${more}${table("Root accounts", accounts)}`;
  return { title: "Overview", body, commands: ["order checkout --failed", "doctor", "check"] };
};

const order = async (id: string): Promise<Page> => {
  const report = await lookups.finder("order", (one) => orderReport(one, readActualRun))(id);
  const { checkout, requests } = report;
  const subjects = requests.map((one) => ({ type: "request", id: one.id }));
  const events = await latestEvents([{ type: "order", id }, ...subjects], maxEvents);
  const runs = await lastRuns(id, checkout?.attempt ?? 0);
  const rows = await rowsOf(events);
  const told = events.map((event, nth) => ({
    event,
    actor: rows[nth]?.actor,
    said: rows[nth]?.["response or reason"],
  }));
  const letters = requests.map((one) => table(`Request ${one.id} ${one.type}`, letterRows(one).slice(0, atMost)));
  const body = html`${record(await orderRecord(report))}${picture(report, told, new Date())}${table("Last runs of the checkout", runs)}
${letters.slice(0, atMost)}${await history(events)}`;
  const commands = [`order checkout ${id} --wait`, `order show ${id}`, `order settle ${id} --reason <text>`];
  return { title: `Order ${id}`, body, commands, live: checkout?.status === "RUNNING" };
};

const attachment = async (parent: EventSubject, id: string): Promise<Page> => {
  const events = (await latestEvents([parent], maxEvents)).filter(({ resource }) => resource.id === id);
  const shown = findAttachment(parent.id, id).then((found) => record({ ...found.attachment, "belongs to": parent.id }));
  const facts = await shown.catch((error: Error) => {
    if (events.length === 0) throw error;
    return html`<p>${error.message}</p>`;
  });
  const commands = [`attachment download ${parent.id} ${id}`];
  return { title: `Attachment ${id}`, body: html`${facts}${await history(events)}`, commands };
};

const account = async (id: string): Promise<Page> => {
  const found = await lookups.findAccount(id);
  const ids = await lookups.orderIdsOf(id);
  const latest = ids.slice(-atMost).reverse();
  const title = ids.length > atMost ? `The latest ${atMost} of ${ids.length} orders` : "Orders";
  const switches = (await Array.fromAsync(switchesOf(id))).slice(0, atMost).map(switchRow);
  const keys = (await lookups.keysOf(id)).slice(0, atMost).map(keyRow);
  const users = (await lookups.usersOf(id)).slice(0, atMost).map(userRow);
  const below = (await lookups.childAccounts(id)).slice(0, atMost).map(named);
  const events = await latestEvents([{ type: "account", id }], atMost);
  const body = html`${record(accountDetails(found))}${table(title, await listedOrders(latest, { json: false }))}
${table("Accounts below it", below)}${table("Switches of it and of the accounts below it", switches)}
${table("API keys", await Promise.all(keys))}${table("Users", users)}${await history(events)}`;
  const commands = [`account rename ${id} <name>`, `account feature ${id} on`, `key issue --account ${id} --user <id>`];
  return { title: `Account ${found.name}`, body, commands };
};

/** A switch, a user or a key, and its history. A deleted switch has only its history. */
const simple =
  (type: string, read: (id: string) => Promise<Row | undefined>, command: string) => async (id: string) => {
    const [found, events] = [await read(id), await latestEvents([{ type, id }], atMost)];
    const facts = found ? record(found) : html`<p>${events.length > 0 ? "It was deleted." : "It does not exist."}</p>`;
    return { title: `${type} ${id}`, body: html`${facts}${await history(events)}`, commands: [`${command} ${id}`] };
  };

const addressOf = ({ type, id, parent }: lookups.Place): string =>
  parent && /_attachment$|^upload$/.test(type) ? `/attachment/${parent.type}/${parent.id}/${id}` : `/${type}/${id}`;

const find = async (text: string): Promise<Page | string> => {
  const places = text === "" ? [] : await placesOf(text, {});
  const [only, ...others] = places;
  if (only && others.length === 0) return addressOf(only);
  const link = (one: lookups.Place) => html`<a href="${addressOf(one)}">${one.name ?? one.id}</a>`;
  const none = "This finds ids, API keys, reference_ids, X-Request-Ids of changes, and how an account's name begins.";
  const found = places.map((one) => html`<li>${one.type} ${link(one)}</li>`);
  return { title: places.length > 0 ? "Found" : "Nothing was found", body: html`<ul>${found}</ul><p>${none}</p>` };
};

const pages: Readonly<Record<string, (id: string) => Promise<Page | string>>> = {
  order,
  account,
  request: async (id) => `/order/${(await lookups.findRequest(id)).order}`,
  switch: simple("switch", (id) => readSwitch(id).then((one) => one && withoutSecrets(one)), "switch show"),
  user: simple("user", async (id) => userRow(await lookups.findUser(id)), "user permissions"),
  api_key: simple("api_key", async (id) => keyRow(await lookups.keyByReference(id)), "key revoke"),
};

/** Returns the page at an address, or the address to which it has moved. Throws the errors of the commands. */
export const pageAt = async ({ pathname, searchParams }: URL): Promise<Page | string> => {
  if (pathname === "/") return home();
  if (pathname === "/find") return find((searchParams.get("text") ?? "").trim());
  const [, type = "", ...ids] = pathname.split("/");
  const [parentType, parentId = "", id] = ids;
  if (type === "attachment" && id && (parentType === "order" || parentType === "request"))
    return attachment({ type: parentType, id: parentId }, id);
  const page = Object.hasOwn(pages, type) && pages[type];
  if (!page) throw new CommandError("There is no such page.");
  return page(ids.join("/"));
};
