import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { serviceUnavailable } from "../../../shared/errors.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { add } from "../../support/fixtures/tenants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, receipts, stateOf } from "../../support/servers/workflow.ts";

type Files = typeof import("../../../shared/attachments/files.ts");

const door = vi.hoisted(
  (): { faults: number; open: (real: Files["openFile"], key: string) => ReturnType<Files["openFile"]> } => ({
    faults: 0,
    open: (real, key) => real(key),
  }),
);

vi.mock("../../../shared/attachments/files.ts", async (original) => {
  const real = await original<Files>();
  const openFile: Files["openFile"] = (key) => {
    door.faults -= 1;
    return door.faults >= 0 ? door.open(real.openFile, key) : real.openFile(key);
  };
  return { ...real, openFile };
});

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterAll(() => upstream.close());

const away = async () => {
  throw serviceUnavailable();
};

/** Gives the beginning of the file, then the connection breaks. */
const breakingOff = async () =>
  (async function* () {
    yield Buffer.from("%PDF");
    throw Object.assign(new Error("aborted"), { code: "ECONNRESET" });
  })();

describe.each([
  ["is away", away],
  ["breaks off in the middle of a file", breakingOff],
])("storage that %s", (_, open) => {
  beforeEach(() => {
    door.open = open;
  });

  it("is waited for, and the file reaches the carrier once", async () => {
    const order = await newOrder(add);
    const id = await order.attach(0);
    door.faults = 3;
    const run = await checkOut(order.id);
    expect(run.status).toBe("SUCCEEDED");
    expect(run.called.filter((name) => name === "checkout/forward").length).toBe(4);
    expect(await upstream.held(order.id)).toEqual([`${order.requests[0]} ${id}`]);
  });

  it("for too long ends the run, which says which attachment was not forwarded and why", async () => {
    const order = await newOrder(add);
    const id = await order.attach("order");
    door.faults = 1000;
    const run = await checkOut(order.id);
    door.faults = 0;
    const cause = `The attachment ${id} cannot be forwarded under the request ${order.requests[0]}: S3 is unavailable.`;
    expect(run).toMatchObject({ status: "FAILED", error: "CheckoutFailed", cause });
    expect(await stateOf(order.id)).toEqual({ state: "CART", run: "FAILED", seals: 0, reason: cause });
    expect(await receipts(order.id)).toEqual([`${order.requests[0]} ${id} pending`]);
    expect(await upstream.held(order.id)).toEqual([]);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.held(order.id)).toEqual([`${order.requests[0]} ${id}`]);
  });
});
