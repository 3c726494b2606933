import type { Item } from "../table/expressions.ts";
import { fileKey, fileOwner, type Key, keys, type ParentRef } from "../table/keys.ts";
import { type Finding, place, type Snapshot, tally, violation } from "../table/snapshot.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** The items of parents whose sort keys begin so, with their parents and the rest of the key. */
const under = ({ items }: Snapshot, prefix: string) =>
  items.flatMap((item) => {
    const [, type, id] = /^(ORDER|REQUEST)#(.+)$/.exec(item.pk) ?? [];
    if (id === undefined || !item.sk.startsWith(prefix)) return [];
    const parent: ParentRef = { type: type === "ORDER" ? "order" : "request", id };
    return [{ item, parent, rest: item.sk.slice(prefix.length) }];
  });

/** Attachments, their files, their references and their parents' counts. */
export const attachmentFindings = (of: Snapshot): Finding[] => [
  ...attachments(of),
  ...references(of),
  ...counts(of),
  ...orphanFiles(of),
  ...unfinishedDeletes(of),
];

const attachments = (of: Snapshot): Finding[] =>
  under(of, "ATTACHMENT#").flatMap(({ item, parent, rest: id }) => {
    const file = fileKey(parent, id);
    const found: Finding[] = [];
    if (!of.files.has(file)) found.push(violation("metadata has its file", place(item), `there is no file ${file}`));
    if (!of.item(keys.parent(parent)))
      found.push(violation("an attachment has its parent", place(item), "it has none"));
    if (typeof item.reference_id === "string" && !refersTo(of.item(keys.reference(parent, item.reference_id)), id))
      found.push(
        violation("a reference_id has its item", place(item), `${item.reference_id} is not this attachment's`),
      );
    return found;
  });

const refersTo = (reference: Item | undefined, attachment: string) => reference?.attachment === attachment;

const references = (of: Snapshot): Finding[] =>
  under(of, "REFERENCE#").flatMap(({ item, parent, rest: uuid }) => {
    const owner = of.item(keys.attachment(parent, String(item.attachment)));
    if (owner?.reference_id === uuid) return [];
    return [violation("a reference has its owner", place(item), `${item.attachment} does not carry ${uuid}`)];
  });

const counts = (of: Snapshot): Finding[] => {
  const stored = tally(under(of, "ATTACHMENT#").map(({ item }) => item.pk));
  return of.items.filter(isParent).flatMap((item) => {
    const there = stored.get(item.pk) ?? 0;
    if (item.attachment_count === there) return [];
    return [violation("attachment_count is exact", item.pk, `it is ${item.attachment_count}, stored are ${there}`)];
  });
};

const isParent = ({ pk, sk }: Key) => pk === sk && /^(ORDER|REQUEST)#/.test(pk);

/** A file without metadata may be a day old: then the sweep removes it, at most two days later. */
const orphanFiles = (of: Snapshot): Finding[] =>
  [...of.files].flatMap(([key, storedAt]): Finding[] => {
    const owner = fileOwner(key);
    if (owner && of.item(keys.attachment(owner.parent, owner.id))) return [];
    const rule = "a file has its metadata";
    if (!owner) return [violation(rule, key, "its key is not one of an attachment")];
    const age = Math.floor((of.now.getTime() - storedAt.getTime()) / dayMs);
    if (age >= 3) return [violation(rule, key, `it has been without for ${age} days: is the sweep running?`)];
    return [{ level: "notice", rule, at: key, detail: "the sweep will remove it" }];
  });

const unfinishedDeletes = (of: Snapshot): Finding[] =>
  under(of, "UNFINISHED_DELETE#").map(({ item, parent, rest: id }) => {
    const rule = "a delete is finished";
    if (of.item(keys.attachment(parent, id))) return violation(rule, place(item), "its attachment is still there");
    return {
      level: "notice",
      rule,
      at: place(item),
      detail: "its file may be left: repeat the delete, or await the sweep",
    };
  });
