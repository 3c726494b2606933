import type { Command } from "commander";
import { decodeTime } from "ulid";
import * as z from "zod/mini";
import { dayOf, dayPrefix, fileOwner } from "../../shared/attachments/file-keys.ts";
import { allFiles } from "../../shared/attachments/files.ts";
import { Event } from "../../shared/history/event.ts";
import { parseUlid } from "../../shared/schema/fields.ts";
import type { Item } from "../../shared/table/expressions.ts";
import { eventPrefix, keys, type ParentRef, parentIn } from "../../shared/table/keys.ts";
import { get, getMany, lookUp, parseItem, readItem } from "../../shared/table/read.ts";
import { readParent } from "../../shared/tenants/orders.ts";
import { CommandError } from "./command-errors.ts";
import { findKey, type Place, placesById, printOwned } from "./find.ts";
import { historyOf } from "./history.ts";
import { format, printJson } from "./output.ts";
import { withProgress } from "./progress.ts";
import { add } from "./usage.ts";

const Parent = z.object({ type: z.enum(["order", "request"]), id: z.string() });

/** The attachment of a parent that has an id, and the upload, which has the same. */
const placesBelow = async (parent: ParentRef, id: string): Promise<Place[]> => {
  const below = [keys.attachment(parent, id), keys.upload(parent, id)];
  const [owner, [attachment, upload]] = await Promise.all([readParent(parent), getMany(below)]);
  const types = [attachment && `${parent.type}_attachment`, upload && "upload"].filter((type) => type !== undefined);
  return types.map((type) => ({ type, id, account: owner?.account.id ?? "", parent }));
};

/** What an item in the index is about: an event's resource, the attachment with a reference_id, or an upload. */
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

/** What was deleted: an attachment, or a switch, which still has a history. */
const deleted = async (id: string): Promise<Place[]> => {
  const place = await readItem(Deleted, keys.deleted(id));
  if (place) return [{ type: `${place.parent.type}_attachment`, id, ...place }];
  for await (const event of historyOf({ type: "switch", id })) return [placeOfEvent(event)];
  return [];
};

/** An attachment's id has its day, and so has the name of its file, which has its parent, too. */
const placesOfFile = async (id: string): Promise<Place[]> => {
  for await (const { key } of allFiles(dayPrefix(dayOf(new Date(decodeTime(id)))))) {
    const owner = fileOwner(key);
    if (owner?.id === id) return placesBelow(owner.parent, id);
  }
  return [];
};

const placesOf = async (text: string): Promise<Place[]> => {
  const id = text.startsWith("apik_") ? (await findKey(text))?.id : parseUlid(text);
  // UUIDs are stored in lower case.
  const found =
    id === undefined ? [text, text.toLowerCase()].map(lookedUp) : [placesById(id), lookedUp(id), deleted(id)];
  const places = (await Promise.all(found)).flat();
  const unique = [...new Map(places.map((place) => [place.type + place.id, place])).values()];
  return unique.length === 0 && id !== undefined ? placesOfFile(id) : unique;
};

/** What can be deleted has a key while it exists. */
const isDeleted = async ({ type, id, parent }: Place) => {
  const { data } = z.safeParse(Parent, parent);
  const key = type === "switch" ? keys.switch(id) : data && /_attachment$/.test(type) && keys.attachment(data, id);
  return key ? (await get(key)) === undefined : false;
};

const find = async (text: string): Promise<void> => {
  const found = await withProgress(() => placesOf(text), "Reading the names of its day's files …");
  if (found.length === 0) process.exitCode = 1;
  if (format.json) return printJson({ found });
  if (found.length === 0)
    throw new CommandError(
      "Nothing was found. `find` knows ids, API keys, reference_ids and, for 400 days, the X-Request-Id of a change; of what version 1.0 has written, only ids and API keys.",
    );
  const row = async ({ parent, ...place }: Place) => ({
    ...place,
    "belongs to": parent && `${parent.type} ${parent.id}`,
    deleted: (await isDeleted({ parent, ...place })) ? "yes" : "no",
  });
  await printOwned(await Promise.all(found.map(row)), true);
};

export const addFindCommand = (program: Command): void => {
  add(program, "find <text>", "say whose an id, an API key, a reference_id or an X-Request-Id is, and of what").action(
    (text: string) => find(text.trim()),
  );
};
