import type { Attachment } from "../../../shared/attachments/attachment-schema.ts";
import { createAttachment, deleteAttachment, updateAttachment } from "../../../shared/attachments/attachments.ts";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { keys, type ParentRef } from "../../../shared/table/keys.ts";
import { readParent } from "../../../shared/tenants/orders.ts";
import { apply, operator } from "../fixtures/apply.ts";
import { addMessagingNumbers, customer } from "../fixtures/tenants.ts";
import { newAttachment } from "../fixtures/upload-content.ts";
import type { Actor } from "./schedules.ts";

/** The order of the interleaving test, with two requests and two attachments, and the actors that change it. */

export const places = ["first request", "second request", "order"] as const;
export type Place = (typeof places)[number];

/** What happens during the checkout: to which parent a file is uploaded, whose attachment is deleted or renamed. */
export type Changes = {
  readonly upload?: Place;
  readonly delete?: Place;
  readonly rename?: Place;
  readonly request?: "new";
};

const loa = newAttachment(Buffer.from("%PDF-1.7 signed"));

const parentOf = async (ref: ParentRef) => {
  const parent = await readParent(ref);
  if (!parent) throw new Error(`There is no ${ref.type} ${ref.id}.`);
  return parent;
};
type Parent = Awaited<ReturnType<typeof parentOf>>;

/** Advances with each upload, so that ids have the same order in every replay. */
let now = Date.now();
const upload = async (parent: Parent) => {
  now += 1;
  return (await createAttachment(parent, loa, operator(new Date(now)), undefined)).attachment;
};

export const newModel = async () => {
  const { order: id, requests } = await customer({ requestTypes: [addMessagingNumbers, addMessagingNumbers] });
  const [first = "", second = ""] = requests.toSorted();
  const parents: Record<Place, Parent> = {
    "first request": await parentOf({ type: "request", id: first }),
    "second request": await parentOf({ type: "request", id: second }),
    order: await parentOf({ type: "order", id }),
  };
  const attached: Partial<Record<Place, Attachment>> = {
    "first request": await upload(parents["first request"]),
    order: await upload(parents.order),
  };
  return { id, requests: [first, second], parents, attached };
};
export type Model = Awaited<ReturnType<typeof newModel>>;

const name = ({ pk, sk }: { pk: string; sk: string }) => `${pk} ${sk}`;

/** The actors that make the changes, with the items and files that each of their calls touches. */
export const actorsOf = ({ id, parents, attached }: Model, changes: Changes): Record<string, Actor> => {
  const actors: Record<string, Actor> = {};
  const of = (place: Place) => {
    const [parent, attachment] = [parents[place], attached[place]];
    if (!attachment) throw new Error(`Nothing is attached to the ${place}.`);
    return { parent, attachment, items: [name(keys.parent(parent)), name(keys.attachment(parent, attachment.id))] };
  };
  if (changes.upload) {
    const parent = parents[changes.upload];
    const calls = [[name(keys.parent(parent)), name(keys.attachment(parent, "new"))]];
    actors.upload = { calls, run: () => upload(parent) };
  }
  if (changes.delete) {
    const { parent, attachment, items } = of(changes.delete);
    const run = () => deleteAttachment(parent, { ...attachment, unfinished: false }, operator(), () => {});
    // It removes the metadata, then the file.
    actors.delete = { calls: [items, [fileKey(parent, attachment.id)]], run };
  }
  if (changes.rename) {
    const { parent, attachment, items } = of(changes.rename);
    const run = () => updateAttachment(parent, attachment, { name: "Renamed" }, operator(), () => {});
    actors.rename = { calls: [items], run };
  }
  if (changes.request) {
    const order = name(keys.order(id));
    const account = name(keys.account(parents.order.account.id));
    // It reads the order, then its account and checkout, and is refused if the order is then checked out.
    const run = () => apply({ requests: { late: { order: id, type: addMessagingNumbers } } }).catch(() => undefined);
    actors.request = {
      calls: [[order], [account, name(keys.checkout(id))], [order, name(keys.orderRequest(id, ""))]],
      run,
    };
  }
  return actors;
};
