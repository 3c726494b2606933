import { describe, expect, it } from "vitest";
import { uploadedFile } from "../../../shared/attachments/attachment-schema.ts";
import { createAttachment, deleteAttachment, updateAttachment } from "../../../shared/attachments/attachments.ts";
import { readAttachment } from "../../../shared/attachments/read.ts";
import { checkedOut, lateChanges } from "../../../shared/checkout/late-changes.ts";
import { collections } from "../../../shared/table/keys.ts";
import { queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { readParent } from "../../../shared/tenants/orders.ts";
import { newOrder, type TestOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";

const checkOut = (order: TestOrder) => adminJson(["order", "checkout", order.id, "--wait"]);

const listed = async ({ account }: TestOrder, ...options: string[]) =>
  adminJson(["order", "list", "--late", "--account", account, ...options]);

/** The events of the order's attachments, and of its first request's, as `<type>` or `<type> late`. */
const attachmentEvents = async ({ id, requests: [request = ""] }: TestOrder) => {
  const of = (type: string, one: string) => Array.fromAsync(queryAll(collections.events({ type, id: one })));
  const events = [...(await of("order", id)), ...(await of("request", request))];
  return events.flatMap(({ type, late }) =>
    /attachment\.(created|updated|deleted)$/.test(String(type)) ? [`${type}${late === true ? " late" : ""}`] : [],
  );
};

describe("a change of an attachment after the checkout", () => {
  it("is late: its event says so, and its order is listed until an operator acknowledges it", async () => {
    const order = await newOrder(addMessagingNumbers, "PORT_IN");
    const [letter, revoked] = [await order.attach(0, "Letter"), await order.attach(0, "Revoked")];
    await checkOut(order);
    expect(await listed(order)).toEqual([]);
    const added = await order.attach("order", "Added");
    await order.update("order", added, { name: "Added later" });
    await order.update(0, letter, { notes: "new" });
    await order.remove(0, revoked);
    // Nothing of this request is forwarded.
    await order.attach(1);
    const [request] = order.requests;
    const parent = { type: "request", id: request };
    const at = expect.any(String);
    const changes = [
      { id: revoked, parent, name: "Revoked", change: "deleted", at },
      { id: letter, parent, name: "Letter", change: "updated", at },
      { id: added, parent: { type: "order", id: order.id }, name: "Added later", change: "created", at },
    ];
    expect(await listed(order)).toEqual([{ id: order.id, account: order.account, at, changes }]);
    expect(await adminJson(["order", "list", "--late"])).toEqual(
      expect.arrayContaining([{ id: order.id, account: order.account, at, changes }]),
    );
    expect(await listed(order, "--since", "1h")).toHaveLength(1);
    expect(await listed(order, "--since", new Date().toISOString())).toEqual([]);
    expect(await attachmentEvents(order)).toEqual([
      "order_attachment.created late",
      "order_attachment.updated late",
      "request_attachment.created",
      "request_attachment.created",
      "request_attachment.updated late",
      "request_attachment.deleted late",
    ]);
    const shown = "Revoked deleted, Letter updated, Added later created";
    expect((await admin(["order", "list", "--late", "--account", order.account])).stdout).toContain(`  ${shown}\n`);
    expect((await admin(["order", "show", order.id])).stdout).toMatch(
      new RegExp(`\\nnot acknowledged +${shown}: \`order acknowledge ${order.id}\`\\n`),
    );
    const acknowledge = ["order", "acknowledge", order.id, "--reason", "Sent by e-mail"];
    expect(await adminJson(acknowledge)).toEqual({ id: order.id, acknowledged: [revoked, letter, added] });
    expect(await listed(order)).toEqual([]);
    const { events } = await adminJson(["history", "order", order.id]);
    expect(events.at(-1)).toMatchObject({ type: "order.acknowledged", reason: "Sent by e-mail" });
    const again = await admin(acknowledge);
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringContaining(`The order ${order.id} has no change after its checkout that is not acknowledged`),
    ]);
  });

  it("is late, too, if the order was checked out after its parent was read", async () => {
    const order = await newOrder(addMessagingNumbers);
    const [updated, deleted] = [await order.attach(0, "Updated"), await order.attach(0, "Deleted")];
    const [request = ""] = order.requests;
    const parent = await readParent({ type: "request", id: request });
    if (!parent) throw new Error("The request exists.");
    await checkOut(order);
    const actor = { type: "operator", id: "test" } as const;
    const origin = { now: new Date(), actor, request_id: null };
    const current = async (id: string) => {
      const attachment = await readAttachment(parent, id);
      if (!attachment) throw new Error("The attachment exists.");
      return attachment;
    };
    const metadata = { name: "Created", notes: null, file_hint: "DEFAULT", reference_id: null } as const;
    const file = uploadedFile(Buffer.from("%PDF-1.7\n"), "loa.pdf", "application/pdf");
    await createAttachment(parent, { ...metadata, file }, origin, undefined);
    await updateAttachment(parent, await current(updated), { notes: "new" }, origin, () => {});
    await deleteAttachment(parent, { ...(await current(deleted)), unfinished: false }, origin, () => {});
    const [{ changes }] = await listed(order);
    expect(changes.map(({ name, change }: { name: string; change: string }) => `${name} ${change}`).sort()).toEqual([
      "Created created",
      "Deleted deleted",
      "Updated updated",
    ]);
  });

  it("is late if it came between the seal and the checkout, and stops the write that has not counted it", async () => {
    const order = await newOrder(addMessagingNumbers);
    await order.attach(0, "Counted");
    const now = new Date();
    const stale = await lateChanges(order.id, now);
    await order.attach(0, "Added meanwhile");
    expect((await transact(await checkedOut(order.id, stale, now)))?.has("order")).toBe(true);
    expect(await transact(await checkedOut(order.id, await lateChanges(order.id, now), now))).toBeUndefined();
    const [{ changes }] = await listed(order);
    expect(changes).toMatchObject([{ change: "created" }, { change: "created" }]);
  });
});
