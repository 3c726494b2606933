import type { Command } from "commander";
import { decodeTime } from "ulid";
import * as z from "zod/mini";
import { dayOf, dayPrefix, fileOwner } from "../../../shared/attachments/file-keys.ts";
import { allAttachments } from "../../../shared/attachments/read.ts";
import { Event } from "../../../shared/history/event.ts";
import { parseUlid } from "../../../shared/schema/fields.ts";
import type { Item } from "../../../shared/table/expressions.ts";
import { eventPrefix, keys, type ParentRef, parentIn } from "../../../shared/table/keys.ts";
import { get, getMany, lookUp, parseItem, readItem } from "../../../shared/table/read.ts";
import { readOrder, readParent, requestsOfOrder } from "../../../shared/tenants/orders.ts";
import type { Order } from "../../../shared/tenants/tenant-schema.ts";
import { CommandError } from "../cli/command-errors.ts";
import {
  accountsBelow,
  findAccount,
  findKey,
  findOrder,
  ifDenied,
  inOrder,
  isBeingErased,
  orderIdsOf,
  type Place,
  parseId,
  placesById,
  printOwned,
  readOrders,
} from "../cli/lookups.ts";
import { type Format, printJson } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { argumentOrInput } from "../cli/standard-input.ts";
import { add } from "../cli/usage.ts";
import { deletionOf, historyCommand, historyOf } from "./history.ts";

const Parent = z.object({ type: z.enum(["order", "request"]), id: z.string() });

/** Returns a parent's attachment with this id, and its upload, which has the same id. */
const placesBelow = async (parent: ParentRef, id: string): Promise<Place[]> => {
  const below = [keys.attachment(parent, id), keys.upload(parent, id)];
  const [owner, [attachment, upload]] = await Promise.all([readParent(parent), getMany(below)]);
  const types = [attachment && `${parent.type}_attachment`, upload && "upload"].filter((type) => type !== undefined);
  return types.map((type) => ({ type, id, account: owner?.account.id ?? "", parent }));
};

/** Resolves an item in the index to an event's resource, the attachment with a reference_id, or an upload and its attachment. */
const placesOfItem = async (item: Item = {}): Promise<Place[]> => {
  if (String(item.sk).startsWith(eventPrefix)) return [placeOfEvent(parseItem(Event, item))];
  const parent = parentIn(String(item.pk));
  if (!parent) return [];
  const places = await placesBelow(parent, String(item.attachment ?? item.id));
  return item.attachment ? places.slice(0, 1) : places;
};

const placeOfEvent = ({ resource: { type, id }, account, parent }: Event): Place => ({ type, id, account, parent });

const lookedUp = async (text: string): Promise<Place[]> =>
  (await Promise.all((await getMany(await lookUp(text))).map(placesOfItem))).flat();

const Deleted = z.object({ account: z.string(), parent: Parent });

/** Returns a deleted attachment, or a switch that has a history, even if it was deleted. */
const deleted = async (id: string): Promise<Place[]> => {
  const place = await readItem(Deleted, keys.deleted(id));
  if (place) return [{ type: `${place.parent.type}_attachment`, id, ...place }];
  for await (const event of historyOf({ type: "switch", id })) return [placeOfEvent(event)];
  return [];
};

/** An attachment's id contains the day under which its file is stored, and the file's key contains its parent. */
const placesOfFile = async (id: string): Promise<Place[]> => {
  const { allFiles } = await import("../../../shared/attachments/files.ts");
  for await (const { key } of allFiles(dayPrefix(dayOf(new Date(decodeTime(id)))))) {
    const owner = fileOwner(key);
    if (owner?.id === id) return placesBelow(owner.parent, id);
  }
  return [];
};

type Scope = { readonly account?: string; readonly order?: string };

/** Macs type letters with accents decomposed, and others composed. */
const comparable = (text: string) => text.normalize("NFC").toLowerCase();

/** A name as its words, each after a blank. A name of nothing but signs stays as it is. */
const words = (text: string) => {
  const found = comparable(text).match(/[\p{L}\p{M}\p{N}]+/gu);
  return ` ${found?.join(" ") ?? text}`;
};

/** Finds accounts by the beginning of any word of their names. Reads all accounts, whichever part of a name it compares. */
const accountsNamed = async (text: string): Promise<Place[]> => {
  const places: Place[] = [];
  for await (const { id, name, ancestors } of accountsBelow(null)) {
    const above = ancestors.at(-1);
    const parent = above === undefined ? null : { type: "account", id: above };
    if (words(name).includes(words(text))) places.push({ type: "account", id, account: id, parent, name });
  }
  return places;
};

/** The attachments of an order and of its requests whose name or filename contains the text. */
const attachmentsNamed = async (text: string, { id, account }: Order): Promise<Place[]> => {
  const requests = await Array.fromAsync(requestsOfOrder(id));
  const parents = [
    { type: "order", id, account } as const,
    ...requests.map((one) => ({ ...one, type: "request" }) as const),
  ];
  const found = parents.map(async ({ account, type, id }) => {
    const attachments = await Array.fromAsync(allAttachments({ type, id }));
    const named = attachments.filter(({ name, filename }) => comparable(`${name}\n${filename}`).includes(text));
    const parent = { type, id };
    return named.map((one) => ({ type: `${type}_attachment`, id: one.id, account, parent, name: one.name }));
  });
  return (await Promise.all(found)).flat();
};

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * Searches the names of attachments within an account or an order. Without these, searches the names of accounts, unless the text
 * is a UUID.
 */
const placesNamed = async (text: string, { account, order }: Scope): Promise<Place[]> => {
  if (account === undefined && order === undefined) return uuid.test(text) ? [] : accountsNamed(comparable(text));
  const orders = [
    ...(order === undefined ? [] : [await findOrder(order)]),
    ...(account === undefined ? [] : await readOrders(await orderIdsOf((await findAccount(account)).id))),
  ];
  const named = inOrder(orders, 10, (one) => attachmentsNamed(comparable(text), one));
  return (await Array.fromAsync(named)).flat();
};

const orderOfExecution = async (run: string) => {
  const { executionArnOf, orderOf } = await import("../../../shared/checkout/execution.ts");
  return orderOf({ executionArn: executionArnOf(run) }).catch(ifDenied(undefined));
};

/** The name of a run contains its order, if the CLI has started it. Step Functions knows the order of any other. */
const orderOfRun = async (text: string): Promise<Place[]> => {
  const run = text.split(":").at(-1) ?? "";
  const [, named = ""] = /^checkout-(\w{26})-\d+$/.exec(run) ?? [];
  const id =
    parseUlid(named) ?? (uuid.test(run) && process.env.STATE_MACHINE_ARN ? await orderOfExecution(run) : undefined);
  const order = id === undefined ? undefined : await readOrder(id);
  return order ? [{ type: "order", id: order.id, account: order.account, parent: null }] : [];
};

/** What is copied from a header is a key. */
const withoutScheme = (text: string) => text.replace(/^(authorization: *)?bearer +(?=apik_)/i, "");

const longest = 400;

export const placesOf = async (given: string, scope: Scope): Promise<Place[]> => {
  if (given.length > longest) throw new CommandError(`No id, key or name has ${given.length} characters.`);
  const text = withoutScheme(given);
  const id = text.startsWith("apik_") ? (await findKey(text))?.id : parseUlid(text);
  // UUIDs are stored in lower case.
  const found =
    id === undefined
      ? [...[text, text.toLowerCase()].map(lookedUp), placesNamed(text, scope), orderOfRun(text)]
      : [placesById(id), lookedUp(id), deleted(id)];
  const places = (await Promise.all(found)).flat();
  const unique = [...new Map(places.map((place) => [place.type + place.id, place])).values()];
  const all = unique.length === 0 && id !== undefined ? await placesOfFile(id) : unique;
  const isErased = await Promise.all(all.map(isBeingErased));
  return all.filter((_, index) => !isErased[index]);
};

/** Returns the key of what can be deleted. Switches and attachments can, and accounts by `account erase`. */
const deletableKey = ({ type, id, parent }: Place) => {
  if (type === "account") return keys.account(id);
  if (type === "switch") return keys.switch(id);
  const { data } = z.safeParse(Parent, parent);
  return data && /_attachment$/.test(type) ? keys.attachment(data, id) : undefined;
};

const isDeleted = async (place: Place) => {
  const key = deletableKey(place);
  return key ? (await get(key)) === undefined : false;
};

/** Says that something was deleted, when, by whom, and where to read more. */
const describeDeleted = async (place: Place) => {
  const subject = historyOfPlace(place);
  const deletion = await deletionOf(subject, place.id);
  return `${place.id} was deleted${deletion ? ` at ${deletion}` : ""}: see ${historyCommand(subject)}.`;
};

/** The events of an attachment are in the history of its request or its order. */
const historyOfPlace = ({ type, id, parent }: Place) => (type === "switch" ? { type, id } : (parent ?? { type, id }));

export const searched =
  "Nothing was found. `find` searches ids, API keys, reference_ids, runs, names and the X-Request-Ids of changes in the last 400 days.";

/** Suggests where else to look. A request that changed nothing leaves no event in the table. */
export const hint = (text: string, { account, order }: Scope): string => {
  if (!uuid.test(text) && account === undefined && order === undefined)
    return "To find attachments by name or filename, add --account <id> or --order <id>.";
  if (!uuid.test(text)) return "";
  const where =
    process.env.AWS_ENDPOINT_URL_DYNAMODB || process.env.AWS_ENDPOINT_URL
      ? "`./patchbay start --verbose` prints the X-Request-Id of each"
      : `in CloudWatch Logs Insights, choose the log groups whose names begin with the stack's, and run: filter request_id = "${text}"`;
  return `A request that changed nothing is in the logs only: ${where}.`;
};

const find = async (argument: string, { json, ...scope }: Format & Scope): Promise<void> => {
  const text = (await argumentOrInput(argument)).trim();
  const found = await withProgress(() => placesOf(text, scope), "Searching …");
  if (found.length === 0) process.exitCode = 1;
  if (json) {
    for (const place of found) if (await isDeleted(place)) console.error(await describeDeleted(place));
    return printJson({ found });
  }
  if (found.length === 0) throw new CommandError([searched, hint(text, scope)].filter(Boolean).join("\n"));
  const gone: Place[] = [];
  const row = async (place: Place) => {
    const { parent, name, ...about } = place;
    const isGone = await isDeleted(place);
    if (isGone) gone.push(place);
    const deletion = isGone ? await deletionOf(historyOfPlace(place), place.id) : undefined;
    return {
      ...about,
      ...(name !== undefined && { name }),
      "belongs to": parent && `${parent.type} ${parent.id}`,
      deleted: isGone ? (deletion ?? "yes") : "no",
    };
  };
  await printOwned(await Promise.all(found.map(row)), { json }, { whole: true });
  const histories = new Set(gone.map((place) => historyCommand(historyOfPlace(place))));
  if (histories.size > 0) console.log(`\nWhat happened to it: ${[...histories].join(", ")}`);
};

export const addFindCommand = (program: Command): void => {
  add(
    program,
    "find <text>",
    "identify an id, an API key, a reference_id, a run, an X-Request-Id or a name, and show who owns it",
  )
    .option("--account <id>", "find attachments of this account's orders by a part of their name or filename", parseId)
    .option(
      "--order <id>",
      "find attachments of this order and its requests by a part of their name or filename",
      parseId,
    )
    .addHelpText(
      "after",
      "\nWithout these options, a name is the beginning of any word of an account's name.\n- reads the text from standard input.",
    )
    .action((text: string, options: Format & Scope) => find(text, options));
};
