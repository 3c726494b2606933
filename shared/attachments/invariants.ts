import type { Item } from "../table/expressions.ts";
import { type Key, keys, type ParentRef } from "../table/keys.ts";
import { type Finding, keyText, type Snapshot, tally, violation } from "../table/snapshot.ts";
import { fileKey, fileOwner } from "./file-keys.ts";

const dayMs = 24 * 60 * 60 * 1000;

/**
 * Returns the items in the partitions of orders and requests whose sort keys begin with `prefix`, and the rest of their
 * sort keys.
 */
const itemsOfParents = ({ items }: Snapshot, prefix: string) =>
  items.flatMap((item) => {
    const [, type, id] = /^(ORDER|REQUEST)#(.+)$/.exec(item.pk) ?? [];
    if (id === undefined || !item.sk.startsWith(prefix)) return [];
    const parent: ParentRef = { type: type === "ORDER" ? "order" : "request", id };
    return [{ item, parent, rest: item.sk.slice(prefix.length) }];
  });

/** Checks attachments, their files, their references and their parents' counts. */
export const attachmentFindings = (snapshot: Snapshot): Finding[] => [
  ...attachments(snapshot),
  ...references(snapshot),
  ...counts(snapshot),
  ...orphanFiles(snapshot),
  ...unfinishedDeletes(snapshot),
];

const attachments = (snapshot: Snapshot): Finding[] =>
  itemsOfParents(snapshot, "ATTACHMENT#").flatMap(({ item, parent, rest: id }) => {
    const file = fileKey(parent, id);
    const found: Finding[] = [];
    if (!snapshot.files.has(file))
      found.push(violation("metadata has its file", keyText(item), `there is no file ${file}`));
    if (!snapshot.item(keys.parent(parent)))
      found.push(violation("an attachment has its parent", keyText(item), "it has none"));
    if (
      typeof item.reference_id === "string" &&
      !refersTo(snapshot.item(keys.reference(parent, item.reference_id)), id)
    )
      found.push(
        violation("a reference_id has its item", keyText(item), `${item.reference_id} is not this attachment's`),
      );
    return found;
  });

const refersTo = (reference: Item | undefined, attachment: string) => reference?.attachment === attachment;

const references = (snapshot: Snapshot): Finding[] =>
  itemsOfParents(snapshot, "REFERENCE#").flatMap(({ item, parent, rest: uuid }) => {
    const owner = snapshot.item(keys.attachment(parent, String(item.attachment)));
    if (owner?.reference_id === uuid) return [];
    return [violation("a reference has its owner", keyText(item), `${item.attachment} does not have ${uuid}`)];
  });

const counts = (snapshot: Snapshot): Finding[] => {
  const stored = tally(itemsOfParents(snapshot, "ATTACHMENT#").map(({ item }) => item.pk));
  return snapshot.items.filter(isParent).flatMap((item) => {
    const actual = stored.get(item.pk) ?? 0;
    if (item.attachment_count === actual) return [];
    return [
      violation("attachment_count is exact", item.pk, `it is ${item.attachment_count}, but ${actual} are stored`),
    ];
  });
};

const isParent = ({ pk, sk }: Key) => pk === sk && /^(ORDER|REQUEST)#/.test(pk);

/** The sweep removes a file without metadata once it is a day old, at most two days later. */
const orphanFiles = (snapshot: Snapshot): Finding[] =>
  [...snapshot.files].flatMap(([key, storedAt]): Finding[] => {
    const owner = fileOwner(key);
    if (owner && snapshot.item(keys.attachment(owner.parent, owner.id))) return [];
    const rule = "a file has its metadata";
    if (!owner) return [violation(rule, key, "its key is not an attachment's")];
    const age = Math.floor((snapshot.now.getTime() - storedAt.getTime()) / dayMs);
    if (age >= 3) return [violation(rule, key, `it has had none for ${age} days: is the sweep running?`)];
    return [{ level: "notice", rule, at: key, detail: "the sweep will remove it" }];
  });

const unfinishedDeletes = (snapshot: Snapshot): Finding[] =>
  itemsOfParents(snapshot, "UNFINISHED_DELETE#").map(({ item, parent, rest: id }) => {
    const rule = "a delete is finished";
    if (snapshot.item(keys.attachment(parent, id)))
      return violation(rule, keyText(item), "its attachment is still there");
    return {
      level: "notice",
      rule,
      at: keyText(item),
      detail: "its file may still exist: repeat the delete, or wait for the sweep",
    };
  });
