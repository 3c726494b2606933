import { afterAll, describe, expect, it } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { largeOrder } from "../../support/fixtures/large-order.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { declaredFile, newContent, sha256Of } from "../../support/fixtures/upload-content.ts";
import { completePath, sentUpload } from "../../support/fixtures/uploads.ts";
import { checkOutMeasured, claimMeasured } from "../../support/processes/measured-process.ts";
import { call } from "../../support/requests/client.ts";
import { carrier, forwardedTo } from "../../support/servers/carrier.ts";
import { checkOut } from "../../support/servers/workflow.ts";
import { extent } from "../../support/setup/extent.ts";

const upstream = await carrier();
afterAll(() => upstream.close());

/** A sample tests only that a direct upload larger than a request arrives; the other extents also compare memory. */
const comparesMemory = extent !== "sample";
const sampleBytes = 11_000_000;

/** The memory, in MB, that a file of 100 MB may take beyond one of 1 MB. Loaded as a whole, it would take over 100. */
const mostMegabytes = 60;

/**
 * What the larger file takes beside the smaller one, in megabytes. How much of freed memory a process gives back depends
 * on when garbage is collected: the lowest of up to three runs counts, as a process that holds a file does so each time.
 */
const growthOf = async (run: (bytes: number) => Promise<number>) => {
  const small = Math.min(await run(1_000_000), await run(1_000_000));
  const growths: number[] = [];
  while (growths.length < 3 && !growths.some((growth) => growth < mostMegabytes))
    growths.push((await run(limits.uploadBytes)) - small);
  console.log(`1 MB: ${small} MB of memory; 100 MB: ${growths.join(", ")} MB more`);
  return Math.min(...growths);
};

/** Uploads a file of this length directly. */
const sentFile = async (bytes: number) => {
  const order = await newOrder(addMessagingNumbers);
  const [path, [request = ""]] = [order.paths.request(0), order.requests];
  const content = newContent(bytes - newContent(0).length);
  const { id } = await sentUpload(path, order.key, content);
  return { order, path, request, id, content, expected: [`${request} ${id} ${bytes} ${sha256Of(content)}`] };
};

/** Claims a direct upload and checks its order out in separate processes. */
const directUploadMeasured = async (bytes: number) => {
  const { order, request, id, content, expected } = await sentFile(bytes);
  const claimed = await claimMeasured(order.key, request, id, declaredFile(content));
  expect(claimed).toMatchObject({ statuses: [201, 201, 200, 200] });
  const checkout = await checkOutMeasured(order.id);
  expect(checkout).toMatchObject({ status: "SUCCEEDED", cause: null });
  expect(await forwardedTo(upstream.url, order.id)).toEqual(expected);
  await order.remove(0, id);
  return { claim: claimed.peak.rss, checkout: checkout.peak.rss };
};

describe("a direct upload of up to 100 MB", () => {
  it.runIf(!comparesMemory)("arrives at the carrier whole", async () => {
    const { order, path, id, expected } = await sentFile(sampleBytes);
    const json = { type: "request_attachment", data: { name: "Scan" } };
    expect((await call("POST", completePath(path, id), { key: order.key, json })).status).toBe(201);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await forwardedTo(upstream.url, order.id)).toEqual(expected);
  });

  it.runIf(comparesMemory)(
    "arrives whole, in about the memory that one of 1 MB takes, in each function",
    async () => {
      const claims: number[] = [];
      const growth = await growthOf(async (bytes) => {
        const { claim, checkout } = await directUploadMeasured(bytes);
        claims.push(claim);
        return checkout;
      });
      expect(growth).toBeLessThan(mostMegabytes);
      const [ofSmall = 0, again = 0, ...ofLarge] = claims;
      console.log("its other functions, 1 MB and 100 MB:", ...claims);
      expect(Math.min(...ofLarge) - Math.min(ofSmall, again)).toBeLessThan(mostMegabytes);
    },
    480_000,
  );
});

describe("a large order", () => {
  it.runIf(comparesMemory)(
    "arrives at the carrier whole, in memory and history that do not grow with its files",
    async () => {
      const fileBytes = 500_000;
      const requests = extent === "all" ? 80 : 40;
      const large = await largeOrder({ requests, attachments: 5, fileBytes });
      const ofLarge = await checkOutMeasured(large.id);
      expect(ofLarge).toMatchObject({ status: "SUCCEEDED", cause: null });
      expect(large.expected.length).toBe(5 * requests);
      expect(await forwardedTo(upstream.url, large.id)).toEqual(large.expected);
      expect(ofLarge.events).toBeLessThan(200);

      const small = await largeOrder({ requests: 2, attachments: 2, fileBytes });
      const ofSmall = await checkOutMeasured(small.id);
      console.log("2 x 2:", ofSmall, `${requests} x 5:`, ofLarge);
      expect(await forwardedTo(upstream.url, small.id)).toEqual(small.expected);
      // Its files have 100 MB or more. Up to 32 of them, 16 MB, are in flight at a time.
      expect(ofLarge.peak.inUse - ofSmall.peak.inUse).toBeLessThan(32);
    },
    120_000,
  );
});
