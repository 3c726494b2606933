import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { largeOrder } from "../../support/fixtures/large-order.ts";
import { checkOutMeasured } from "../../support/processes/checkout-process.ts";
import { carrier, forwardedTo } from "../../support/servers/carrier.ts";
import { byExtent } from "../../support/setup/extent.ts";

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterAll(() => upstream.close());

/** The whole of it, 200 x 20, is `node test/bench/large-order.ts`. */
describe("a large order", () => {
  it("arrives at the carrier whole, in memory and history that do not grow with its files", async () => {
    const fileBytes = 500_000;
    const small = await largeOrder({ requests: 2, attachments: 2, fileBytes });
    const requests = byExtent({ sample: 16, most: 40, all: 80 });
    const large = await largeOrder({ requests, attachments: 5, fileBytes });
    const ofSmall = await checkOutMeasured(small.id);
    const ofLarge = await checkOutMeasured(large.id);
    console.log("2 x 2:", ofSmall, `${requests} x 5:`, ofLarge);

    expect(ofLarge).toMatchObject({ status: "SUCCEEDED", cause: null });
    expect(large.expected.length).toBe(5 * requests);
    expect(await forwardedTo(upstream.url, large.id)).toEqual(large.expected);
    expect(await forwardedTo(upstream.url, small.id)).toEqual(small.expected);
    expect(ofLarge.events).toBeLessThan(200);
    // All its files are 40 MB at least; up to 32 of them, 16 MB, are on their way at a time.
    expect(ofLarge.peak.inUse - ofSmall.peak.inUse).toBeLessThan(32);
  }, 120_000);
});
