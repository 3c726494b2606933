import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { orderReport } from "../../../infra/admin/report.ts";
import { interceptTableCalls } from "../../support/fault-proxy/table-proxy.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { newOrder, orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut } from "../../support/servers/workflow.ts";

const upstream = await carrier();
afterAll(() => upstream.close());

/** Adds a request under an order that exists, as other systems do. */
const addRequest = async (order: string) => {
  const { requests } = await apply({ requests: { late: { order, type: addMessagingNumbers } } });
  return requests.late?.id ?? "";
};

const places = [
  { name: "first", of: 0 },
  { name: "order", of: "order" },
] as const;

/** Changes of the first request's attachments, or of the order's and its requests, before a step. */
const changes = [
  ["first and order", "checkout/forward", "reach the carrier"],
  ["first and order", "checkout/seal", "reach the carrier, which had the old ones"],
  ["first", "checkout/seal-order", "come too late"],
  ["order", "checkout/seal-order", "reach the carrier, which had the old ones"],
  ["first and order", "checkout/submit", "come too late"],
] as const;

describe("changes of an order during its checkout", () => {
  it.each(changes)("of the %s before %s %s", async (changed, step, effect) => {
    const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
    const [first = "", second = ""] = order.requests;
    const attached = await Promise.all(
      places.map(async ({ name, of }) => ({
        ...{ name, of, isChanged: changed.includes(name), kept: await order.attach(of, `${name} kept`) },
        ...{ renamed: await order.attach(of, `${name} old`), deleted: await order.attach(of, `${name} deleted`) },
      })),
    );
    let late = "";
    const change = async () => {
      for (const { name, of, renamed, deleted } of attached.filter(({ isChanged }) => isChanged)) {
        await order.update(of, renamed, { name: `${name} new` });
        await order.remove(of, deleted);
        await order.attach(of, `${name} added`);
        if (of === "order") late = await addRequest(order.id);
      }
    };
    expect((await checkOut(order.id, { before: { [step]: [change] } })).status).toBe("SUCCEEDED");

    const reaches = effect !== "come too late";
    const isSentTwice = reaches && effect !== "reach the carrier";
    const namesIn = ({ name, isChanged }: (typeof attached)[number], request: string) =>
      isChanged && reaches
        ? [`${name} kept 1`, `${name} new ${isSentTwice && request !== late ? 2 : 1}`, `${name} added 1`]
        : [`${name} kept 1`, `${name} old 1`, `${name} deleted 1`];
    const requestsOf = (name: string) =>
      name === "first" ? [first] : [first, second, ...(late && reaches ? [late] : [])];
    const expected = attached.flatMap((place) =>
      requestsOf(place.name).flatMap((id) => namesIn(place, id).map((each) => `${id} ${each}`)),
    );
    const withdrawals = attached
      .filter(({ isChanged }) => isChanged && isSentTwice)
      .flatMap(({ name, deleted }) => requestsOf(name).map((id) => `${id} ${deleted}`))
      .filter((each) => !each.startsWith(late || "none"));
    const { attachments, withdrawn } = await upstream.cart(order.id);
    const actual = attachments.map(({ request_id, name, received }) => `${request_id} ${name} ${received}`);
    expect(actual.sort()).toEqual(expected.sort());
    expect(withdrawn.map((one) => `${one.request_id} ${one.attachment_id}`).sort()).toEqual(withdrawals.sort());
  });

  it("to its requests keep a late one out of CART if the order is checked out between the read and the write", async () => {
    const order = await orderWithOneAttachment();
    let raced = false;
    const stopIntercepting = interceptTableCalls(async (call, pass) => {
      if (call.operation === "TransactWriteItems" && !raced) {
        raced = true;
        await checkOut(order.id);
      }
      return pass();
    });
    onTestFinished(() => void stopIntercepting());
    const late = await addRequest(order.id);
    expect((await orderReport(order.id))?.requests.map(({ id }) => id)).toEqual([...order.requests, late]);
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
  });
});
