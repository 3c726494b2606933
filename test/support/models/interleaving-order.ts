import { createHash } from "node:crypto";
import { createAttachment, deleteAttachment, updateAttachment } from "../../../shared/attachments/attachments.ts";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import type { Attachment } from "../../../shared/attachments/schema.ts";
import { keys, type ParentRef } from "../../../shared/table/keys.ts";
import { type Parent, readParent } from "../../../shared/tenants/orders.ts";
import { apply, operator } from "../fixtures/apply.ts";
import { addMessagingNumbers, customer } from "../fixtures/tenants.ts";

/** The order of the interleaving test, with two requests and two attachments, and the actors that change it. */

export const places = ["first request", "second request", "order"] as const;
export type Place = (typeof places)[number];

const content = Buffer.from("%PDF-1.7 signed");
const sha256 = createHash("sha256").update(content).digest("hex");

const loa = (name: string): Parameters<typeof createAttachment>[1] => ({
  file: { content, sha256, filename: "loa.pdf", contentType: "application/pdf" },
  name,
  notes: null,
  file_hint: "LOA",
  reference_id: null,
});

const parentOf = async (ref: ParentRef): Promise<Parent> => {
  const parent = await readParent(ref);
  if (!parent) throw new Error(`There is no ${ref.type} ${ref.id}.`);
  return parent;
};

/** Advances with each upload, so that ids have the same order in every replay. */
let now = Date.now();
const upload = async (parent: Parent) => {
  now += 1;
  return (await createAttachment(parent, loa("LOA"), operator(new Date(now)), undefined)).attachment;
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

/** An actor that uploads: it changes the parent and the list of its attachments. */
export const uploading = ({ parents }: Model, to: Place) => {
  const parent = parents[to];
  return {
    calls: [[name(keys.parent(parent)), name(keys.attachment(parent, "new"))]],
    run: () => upload(parent),
  };
};

/** An actor that deletes: it changes the parent, removes the metadata, then the file. */
export const deleting = ({ parents, attached }: Model, from: Place) => {
  const parent = parents[from];
  const attachment = attached[from];
  if (!attachment) throw new Error(`Nothing is attached to the ${from}.`);
  return {
    calls: [
      [name(keys.parent(parent)), name(keys.attachment(parent, attachment.id))],
      [fileKey(parent, attachment.id)],
    ],
    run: () => deleteAttachment(parent, { ...attachment, unfinished: false }, operator(), () => {}),
  };
};

/** An actor that renames: it changes the parent and the metadata. */
export const renaming = ({ parents, attached }: Model, of: Place) => {
  const parent = parents[of];
  const attachment = attached[of];
  if (!attachment) throw new Error(`Nothing is attached to the ${of}.`);
  return {
    calls: [[name(keys.parent(parent)), name(keys.attachment(parent, attachment.id))]],
    run: () => updateAttachment(parent, attachment, { name: "Renamed" }, operator(), () => {}),
  };
};

/** An actor that adds a request, as another system does: it reads the order and its account, then changes the order and its list. */
export const addingRequest = ({ id, parents }: Model) => {
  const order = name(keys.order(id));
  return {
    calls: [[order], [name(keys.account(parents.order.account.id))], [order, name(keys.orderRequest(id, ""))]],
    // Refused if the order is checked out between the read and the write.
    run: () => apply({ requests: { late: { order: id, type: addMessagingNumbers } } }).catch(() => undefined),
  };
};
