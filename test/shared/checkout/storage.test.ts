import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { serviceUnavailable } from "../../../shared/errors.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, receipts, stateOf } from "../../support/servers/workflow.ts";

type Files = typeof import("../../../shared/attachments/files.ts");

const storage = vi.hoisted(
  (): { remainingFaults: number; open: (real: Files["openFile"], key: string) => ReturnType<Files["openFile"]> } => ({
    remainingFaults: 0,
    open: (real, key) => real(key),
  }),
);

vi.mock("../../../shared/attachments/files.ts", async (original) => {
  const real = await original<Files>();
  const openFile: Files["openFile"] = (key) => {
    storage.remainingFaults -= 1;
    return storage.remainingFaults >= 0 ? storage.open(real.openFile, key) : real.openFile(key);
  };
  return { ...real, openFile };
});

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterAll(() => upstream.close());

const unavailable = async () => {
  throw serviceUnavailable();
};

/** Returns the beginning of the file, then breaks the connection. */
const interrupted = async () =>
  (async function* () {
    yield Buffer.from("%PDF");
    throw Object.assign(new Error("aborted"), { code: "ECONNRESET" });
  })();

describe.each([
  ["is unavailable", unavailable],
  ["breaks the connection in the middle of a file", interrupted],
])("storage that %s", (_, open) => {
  beforeEach(() => {
    storage.open = open;
  });

  it("is retried, and the file reaches the carrier once", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    storage.remainingFaults = 3;
    const run = await checkOut(order.id);
    expect(run.status).toBe("SUCCEEDED");
    expect(run.called.filter((name) => name === "checkout/forward").length).toBe(4);
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[0]} ${id}`]);
  });

  it("for too long ends the run, with the attachment and the reason", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach("order");
    storage.remainingFaults = 1000;
    const run = await checkOut(order.id);
    storage.remainingFaults = 0;
    const cause = `The attachment ${id} cannot be forwarded under the request ${order.requests[0]}: S3 is unavailable.`;
    expect(run).toMatchObject({ status: "FAILED", error: "CheckoutFailed", cause });
    expect(await stateOf(order.id)).toEqual({ state: "CART", run: "FAILED", seals: 0, reason: cause });
    expect(await receipts(order.id)).toEqual([`${order.requests[0]} ${id} pending`]);
    expect(await upstream.forwarded(order.id)).toEqual([]);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[0]} ${id}`]);
  });
});
