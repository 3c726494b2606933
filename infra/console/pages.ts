import type { StoredEvent } from "../../shared/history/event.ts";
import { readSwitch } from "../../shared/switches/read.ts";
import type { EventSubject, ParentRef } from "../../shared/table/keys.ts";
import { accountSections, accountsSection } from "../admin/accounts/account-sections.ts";
import { accountDetails } from "../admin/accounts/accounts.ts";
import { keyRow } from "../admin/accounts/keys.ts";
import { withoutSecrets } from "../admin/accounts/switches.ts";
import { userRow } from "../admin/accounts/users.ts";
import { CommandError } from "../admin/cli/command-errors.ts";
import * as lookups from "../admin/cli/lookups.ts";
import type { Row } from "../admin/cli/output.ts";
import { cutOf, maxShown, type Section, totalOf } from "../admin/cli/section.ts";
import { readActualRun } from "../admin/history/actual-run.ts";
import { findAttachment } from "../admin/history/find-attachment.ts";
import { hint, placesOf, searched } from "../admin/history/find-command.ts";
import { filesOf, historyCommand, lastRuns, latestEvents, rowsOf } from "../admin/history/history.ts";
import { carrierRows, hasProblem } from "../admin/orders/letter.ts";
import { orderReport, type RequestReport } from "../admin/orders/report.ts";
import { letterRows, orderRecord } from "../admin/orders/show-order.ts";
import { commandsFor } from "../admin/orders/start-checkout.ts";
import { timelineOf } from "../admin/orders/timeline.ts";
import { today, verdictOf } from "../admin/orders/today.ts";
import { type Html, html, id as idOf, link, prose, record, table, timeOf } from "./html.ts";
import { board, countStates, picture } from "./picture.ts";

/** The pages of the console show what the CLI's commands print, by the same functions. */

/** `about` names what the page shows. `commands` change it, or say more. While it is `live`, the browser reads it again. */
export type Page = { title: string; about?: Html; body: Html; commands?: string[]; live?: boolean; status?: number };

/** Shows a command, directed to the console's target. */
type Code = (command: string) => Html;

const maxEvents = 3_000;

/** A row that begins with a name, which leads to what it names, and ends with its id. The page says whose it is. */
const named = (of: string, { id, customer, name, label, account: _, command, ...row }: Row, code: Code): Row => {
  const text = customer ?? name ?? label;
  const first = id === undefined ? {} : { [customer ? "customer" : "name"]: link(`/${of}/${id}`, text ?? id) };
  return { ...first, ...row, id: text ? idOf(id) : null, command: command ? code(String(command)) : null };
};

const section = ({ title, of, rows, rest, none, note, total }: Section, code: Code): Html => {
  const shown = rows.map((row) => named(of, row, code));
  return html`<h2>${title}</h2>${note && html`<p class="quiet">${prose(note)}</p>`}
${table(title, shown, { total, rest: code(rest), ...(none !== undefined && { none }) })}`;
};

/** Newest first. Each thing has the name that it had then, unless the page is about it. */
const history = async (events: readonly StoredEvent[], subject: EventSubject, code: Code): Promise<Html> => {
  const about = new Set(events.map(({ resource }) => resource.id));
  const rows = (await rowsOf(events.slice(-maxShown).reverse())).map(({ id, name, time, ...row }) => ({
    time,
    ...(about.size > 1 && { about: link(`/find?text=${id}`, name ?? id) }),
    ...row,
  }));
  const total = totalOf(events.length, events.length >= maxEvents);
  const rest = code(historyCommand(subject).slice(1, -1));
  const shown = table("History", rows, { total, rest, none: "No event." });
  return html`<details id="history"${rows.length <= 20 && html` open`}><summary><b>History</b></summary>${shown}</details>`;
};

const home = async (code: Code): Promise<Page> => {
  const found = await today(new Date());
  const about = html`Today, as of ${timeOf(new Date()).slice(11)}. ${link("/", "Look again")}`;
  const body = html`${Object.values(found).map((one) => section(one, code))}`;
  const status = Object.values(found).some(({ isUnread }) => isUnread) ? 503 : 200;
  return { title: verdictOf(found), about, body, commands: ["today", "check"], status };
};

/** A request that is folded, unless one of its letters has a problem. */
const requestFold = ({ attachments, ...request }: RequestReport, isOpen: boolean, code: Code): Html => {
  const letters = attachments.toSorted((one, other) => Number(hasProblem(other)) - Number(hasProblem(one)));
  const rows = letterRows({ ...request, attachments: letters }).map(({ id, name, at, ...row }, nth) => ({
    letter: link(
      `/attachment/${letters[nth]?.of}/${letters[nth]?.of === "order" ? request.order : request.id}/${id}`,
      name ?? id,
    ),
    "carrier state": row["carrier state"],
    at,
    attempts: row.attempts,
    ...(letters.some(hasProblem) && {
      "carrier response": letters[nth] && hasProblem(letters[nth]) ? row["carrier response"] : null,
    }),
  }));
  const shown = table("Letters", rows, { rest: code(`request show ${request.id}`), none: "No letter." });
  return html`<details id="${request.id}"${isOpen && html` open`}><summary><b>${request.type}</b> ${countStates(letters)} ${idOf(request.id)}</summary>${shown}</details>`;
};

const order = async (id: string, code: Code): Promise<Page> => {
  const report = await lookups.finder("order", (one) => orderReport(one, readActualRun))(id);
  const { checkout, requests, account: owner, state } = report;
  const subjects = requests.map((one) => ({ type: "request", id: one.id }));
  const events = await latestEvents([{ type: "order", id }, ...subjects], maxEvents);
  const { id: _, account: _account, "account's name": customer, ...facts } = await orderRecord(report);
  const isWrong = (one: RequestReport) => one.attachments.some(hasProblem);
  const sorted = requests.toSorted((one, other) => Number(isWrong(other)) - Number(isWrong(one))).slice(0, maxShown);
  const isShort = requests.flatMap(({ attachments }) => attachments).length <= 20;
  const folds = sorted.map((one) => requestFold(one, isShort || isWrong(one), code));
  const wrong = isShort ? folds.length : sorted.filter(isWrong).length;
  const others = html`<details id="others"><summary>${folds.length - wrong} without a problem</summary>${folds.slice(wrong)}</details>`;
  const cut = cutOf(requests.length, folds.length);
  const runs = await lastRuns(id, checkout?.attempt ?? 0);
  const earlier = runs.map((one) => (one.run === checkout?.run ? { ...one, reason: null } : one));
  const live = checkout?.status === "RUNNING" || checkout?.status === "STOPPING";
  const body = html`${record(facts)}${board(report)}${picture(await timelineOf(report, events, new Date()))}<h2>Requests</h2>${folds.slice(0, wrong)}
${wrong < folds.length && others}${cut && html`<p class="quiet">${cut}${code(`order show ${id}`)}</p>`}
${(runs.length > 0 || !live) && html`<h2>Last runs of the checkout</h2>${table("Last runs", earlier)}`}${await history(events, { type: "order", id }, code)}`;
  const status = live && checkout.next_try_at ? "waiting" : checkout?.status.toLowerCase();
  const title = `${customer ?? "Order"}: ${state === "CHECKED_OUT" ? "checked out" : (status ?? "in cart")}`;
  const about = html`Order ${idOf(id)} of ${link(`/account/${owner}`, customer ?? owner)}`;
  const late = facts["not acknowledged"] ? [`order acknowledge ${id} --reason <text>`] : [];
  return { title, about, body, commands: [...late, ...commandsFor(id, state, checkout)], live };
};

const attachment = async (parent: ParentRef, id: string, code: Code): Promise<Page> => {
  const events = (await latestEvents([parent], maxEvents)).filter(({ resource }) => resource.id === id);
  const found = await findAttachment(parent.id, id).catch((error: Error) => {
    if (events.length === 0) throw error;
    return error.message;
  });
  const isThere = typeof found !== "string";
  const { id: _, name, ...facts }: Row = isThere ? found.attachment : (filesOf(events).at(-1) ?? {});
  const carrier = (await carrierRows(parent, id)).map(({ request, name: sent, state, at, attempts, response }) => ({
    request: link(`/request/${request}`, request),
    state,
    at,
    attempts,
    response,
    "sent as": sent === name ? null : sent,
  }));
  const body = html`${!isThere && html`<p>${prose(found)}</p>`}<h2>What the carrier says</h2>
${table("What the carrier says", carrier, { none: "The carrier has nothing of it." })}<h2>Facts</h2>${record(facts)}${await history(events, parent, code)}`;
  const about = html`Letter ${idOf(id)} of the ${parent.type} ${link(`/${parent.type}/${parent.id}`, parent.id)}`;
  const commands = ["show", "download"].map((verb) => `attachment ${verb} ${parent.id} ${id}`);
  return {
    title: String(name ?? "A letter"),
    about,
    body,
    commands: isThere ? commands : [`history ${parent.type} ${parent.id}`],
  };
};

const account = async (id: string, code: Code): Promise<Page> => {
  const found = await lookups.findAccount(id);
  const { id: _, name, ...facts } = accountDetails(found);
  const search = html`<form action="/find" method="post"><input type="hidden" name="account" value="${id}"><input name="text"
aria-label="Find a letter of this customer" placeholder="a letter's or a file's name"><button>Find letters</button></form>`;
  const sections = (await accountSections(id)).map((one) => section(one, code));
  const events = await latestEvents([{ type: "account", id }], maxEvents);
  const body = html`${search}${record(facts)}${sections}${await history(events, { type: "account", id }, code)}`;
  const feature = found.features.ordering_attachment_access ? "off" : "on";
  const commands = [
    `account rename ${id} <name>`,
    `account feature ${id} ${feature}`,
    `key issue --account ${id} --user <id>`,
  ];
  return { title: name, about: html`Account ${idOf(id)}`, body, commands };
};

const things: Readonly<Record<string, (id: string) => Promise<Row | undefined>>> = {
  switch: async (id) => {
    const found = await readSwitch(id);
    return found && withoutSecrets(await lookups.ofKnownAccount(found));
  },
  user: async (id) => userRow(await lookups.findUser(id)),
  api_key: async (id) => keyRow(await lookups.keyByReference(id)),
};

/** A switch, a user or a key, and its history. A deleted switch has only its history. */
const thing = async (type: string, id: string, code: Code): Promise<Page> => {
  const found = await things[type]?.(id);
  const { id: _, name, label, ...facts } = found ?? {};
  const events = await latestEvents([{ type, id }], maxEvents);
  if (!found && events.length === 0) throw new CommandError(`There is no ${type} ${id}.`);
  const body = html`${found ? record(facts) : html`<p>It was deleted.</p>`}${await history(events, { type, id }, code)}`;
  const about = html`${type.replace("api_key", "API key")} ${idOf(id)}`;
  const change = { user: facts.disabled ? "enable" : "disable", api_key: facts.revoked ? "show" : "revoke" }[type];
  const command = `${type.replace("api_", "")} ${change ?? "show"} ${id}`;
  return { title: String(name ?? label ?? type), about, body, commands: [command] };
};

const addressOf = ({ type, id, parent }: lookups.Place): string =>
  parent && /_attachment$|^upload$/.test(type) ? `/attachment/${parent.type}/${parent.id}/${id}` : `/${type}/${id}`;

const find = async (text: string, account: string | null, code: Code): Promise<Page | string> => {
  const places = text === "" ? [] : await placesOf(text, account ? { account } : {});
  const [only, ...others] = places;
  if (only && others.length === 0) return addressOf(only);
  const rows = places.map(({ type, ...one }) => ({
    name: link(addressOf({ type, ...one }), one.name ?? one.id),
    type,
  }));
  const quoted = text.includes("apik_") ? "-" : `'${text.replaceAll("'", "'\\''")}'`;
  const command = `find ${quoted} --account ${account ?? "<id>"}`;
  const none = `${searched}\n${hint(text, account ? { account } : {})}`;
  const body = table("Found", rows, { rest: code(command), none });
  return { title: only ? `Found ${places.length}` : "Nothing was found", body, commands: [command] };
};

/** Returns the page at an address, or the address to which it has moved. Throws the errors of the commands. */
export const pageAt = async ({ pathname, searchParams }: URL, code: Code): Promise<Page | string> => {
  if (pathname === "/") return home(code);
  if (pathname === "/find") return find((searchParams.get("text") ?? "").trim(), searchParams.get("account"), code);
  const [, type = "", ...ids] = pathname.slice(0, 200).split("/");
  const [parentType, parentId = "", id] = ids;
  if (type === "attachment" && id && (parentType === "order" || parentType === "request"))
    return attachment({ type: parentType, id: parentId }, id, code);
  const one = ids.join("/");
  if (pathname === "/accounts") return { title: "Customers", body: section(await accountsSection(null), code) };
  if (type === "request") return `/order/${(await lookups.findRequest(one)).order}`;
  const page = type === "order" ? order : type === "account" ? account : undefined;
  if (page) return page(one, code);
  if (Object.hasOwn(things, type)) return thing(type, one, code);
  throw new CommandError("There is no such page.");
};
