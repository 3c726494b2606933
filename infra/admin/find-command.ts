import type { Command } from "commander";
import { decodeTime } from "ulid";
import * as z from "zod/mini";
import { readAttachment } from "../../shared/attachments/attachments.ts";
import { dayOf, dayPrefix, fileOwner } from "../../shared/attachments/file-keys.ts";
import { allFiles } from "../../shared/attachments/files.ts";
import { Event } from "../../shared/history/event.ts";
import { parseUlid } from "../../shared/schema/fields.ts";
import type { Item } from "../../shared/table/expressions.ts";
import { eventPrefix, keys, type ParentRef, parentIn } from "../../shared/table/keys.ts";
import { get, getMany, lookUp, parseItem, readItem } from "../../shared/table/read.ts";
import { readOrder, readRequest } from "../../shared/tenants/orders.ts";
import { CommandError } from "./command-errors.ts";
import { findKey, type Place, placesById, printOwned } from "./find.ts";
import { historyOf } from "./history.ts";
import { format, printJson } from "./output.ts";
import { withProgress } from "./progress.ts";

const Parent = z.object({ type: z.enum(["order", "request"]), id: z.string() });

/** The attachment of a parent that has an id, and the upload, which has the same. */
const placesBelow = async (parent: ParentRef, id: string): Promise<Place[]> => {
  const [owner, attachment, upload] = await Promise.all([
    parent.type === "order" ? readOrder(parent.id) : readRequest(parent.id),
    readAttachment(parent, id),
    get(keys.upload(parent, id)),
  ]);
  const place = (type: string) => ({ type, id, account: owner?.account ?? "", parent });
  return [...(attachment ? [place(`${parent.type}_attachment`)] : []), ...(upload ? [place("upload")] : [])];
};

/** An attachment's id has its day, and so has its file's key, which has its parent, too. */
const placesOfFile = async (id: string): Promise<Place[]> => {
  for await (const { key } of allFiles(dayPrefix(dayOf(new Date(decodeTime(id)))))) {
    const owner = fileOwner(key);
    if (owner?.id === id) return placesBelow(owner.parent, id);
  }
  return [];
};

/** What an item in the index is about: an event's resource, the attachment with a reference_id, or an upload. */
const placesOfItem = async (item: Item | undefined): Promise<Place[]> => {
  const [pk, sk] = [String(item?.pk), String(item?.sk)];
  const parent = parentIn(pk);
  if (sk.startsWith(eventPrefix)) {
    const { resource, account, parent } = parseItem(Event, item);
    return [{ ...resource, account, parent }];
  }
  if (!parent) return [];
  return item?.attachment
    ? (await placesBelow(parent, String(item.attachment))).slice(0, 1)
    : placesBelow(parent, String(item?.id));
};

const lookedUp = async (text: string): Promise<Place[]> =>
  (await Promise.all((await getMany(await lookUp(text))).map(placesOfItem))).flat();

const Deleted = z.object({ account: z.string(), parent: Parent });

/** What has been deleted: an attachment, or a switch, which has a history of its own. */
const deleted = async (id: string): Promise<Place[]> => {
  const place = await readItem(Deleted, keys.deletedAttachment(id));
  if (place) return [{ type: `${place.parent.type}_attachment`, id, ...place }];
  for await (const { resource, account, parent } of historyOf({ type: "switch", id }))
    return [{ ...resource, account, parent }];
  return [];
};

const placesOfId = async (id: string): Promise<Place[]> => {
  const found = (await Promise.all([placesById(id), lookedUp(id), deleted(id)])).flat();
  return found.length > 0 ? found : placesOfFile(id);
};

const placesOf = async (text: string): Promise<Place[]> => {
  const id = text.startsWith("apik_") ? (await findKey(text))?.id : parseUlid(text);
  if (id !== undefined) return placesOfId(id);
  // UUIDs are stored in lower case.
  return (await Promise.all([text, text.toLowerCase()].map(lookedUp))).flat();
};

/** What can be deleted has a key while it exists. */
const isDeleted = async ({ type, id, parent }: Place) => {
  if (type === "switch") return (await get(keys.switch(id))) === undefined;
  const { data } = z.safeParse(Parent, parent);
  return /_attachment$/.test(type) && data !== undefined && (await get(keys.attachment(data, id))) === undefined;
};

const find = async (text: string): Promise<void> => {
  const places = await withProgress(() => placesOf(text), "Reading the files of its day …");
  const found = [
    ...new Map(places.map(({ type, id, account, parent }) => [type + id, { type, id, account, parent }])).values(),
  ];
  if (found.length === 0) process.exitCode = 1;
  if (format.json) return printJson({ found });
  if (found.length === 0)
    throw new CommandError(
      "Nothing was found. `find` knows ids, API keys, reference_ids and, for 400 days, the X-Request-Id of a change; of what version 1.0 has written, only ids and API keys.",
    );
  const rows = found.map(async ({ type, id, account, parent }) => ({
    ...{ type, id, account, "belongs to": parent && `${parent.type} ${parent.id}` },
    deleted: (await isDeleted({ type, id, account, parent })) ? "yes" : "no",
  }));
  await printOwned(await Promise.all(rows));
};

export const addFindCommand = (program: Command): void => {
  program
    .command("find")
    .description(
      "say what an id, an API key, a reference_id or the X-Request-Id of a change is, whose, and where it belongs",
    )
    .argument("<text>", "the id, the key, the reference_id or the X-Request-Id")
    .action((text: string) => find(text.trim()));
};
