import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { createAttachment } from "../../../shared/attachments/attachments.ts";
import { forEachConcurrently } from "../../../shared/for-each-concurrently.ts";
import { limits } from "../../../shared/limits.ts";
import { readParent } from "../../../shared/tenants/orders.ts";
import { operator } from "../../support/fixtures/apply.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers, customer } from "../../support/fixtures/tenants.ts";
import { declaredFile, newAttachment, newContent, sha256Of } from "../../support/fixtures/upload-content.ts";
import { completePath, sentUpload } from "../../support/fixtures/uploads.ts";
import { call } from "../../support/requests/client.ts";
import { carrier, forwardedTo } from "../../support/servers/carrier.ts";
import { checkOut } from "../../support/servers/workflow.ts";
import { exhaustive, extent } from "../../support/setup/extent.ts";

const upstream = await carrier();
afterAll(() => upstream.close());

/** A sample tests only that a direct upload larger than a request arrives. The other extents also compare memory. */
const comparesMemory = exhaustive;
const sampleBytes = 11_000_000;

/** Resident memory, and memory in use after garbage collection, in megabytes. */
const Peak = z.object({ rss: z.number(), inUse: z.number() });

const CheckedOut = z.object({
  status: z.string(),
  cause: z.nullable(z.string()),
  /** The number of events in the execution's history on AWS. */
  events: z.number(),
  peak: Peak,
});

const Claimed = z.object({ statuses: z.array(z.number()), peak: Peak });

/**
 * Runs a script in a separate process, so that its memory is that of the functions alone. A small heap, above all a small space for
 * new objects, makes V8 collect garbage early. Otherwise, the peak would include garbage.
 */
const measured = async (script: string, ...args: readonly string[]) => {
  const env = { ...process.env, LOG_LEVEL: "SILENT" };
  const flags = ["--max-old-space-size=128", "--max-semi-space-size=1"];
  const path = join(import.meta.dirname, "../../bench", script);
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, path, ...args], { env });
  return JSON.parse(stdout);
};

const checkOutMeasured = async (order: string) => z.parse(CheckedOut, await measured("check-out-order.ts", order));

/** How many more MB of memory a file of 100 MB may take than one of 1 MB. Loaded as a whole, it would take over 100. */
const mostMegabytes = 60;

/**
 * Returns how many more megabytes the larger file takes than the smaller one. The amount of freed memory that a process returns
 * depends on when garbage is collected. The lowest of up to three runs counts, because a process that holds a file does so each time.
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
  const args = [order.key, request, id, JSON.stringify(declaredFile(content))];
  const claimed = z.parse(Claimed, await measured("claim-upload.ts", ...args));
  expect(claimed).toMatchObject({ statuses: [201, 201, 200, 200] });
  const checkout = await checkOutMeasured(order.id);
  expect(checkout).toMatchObject({ status: "SUCCEEDED", cause: null });
  expect(await forwardedTo(upstream.url, order.id)).toEqual(expected);
  await order.remove(0, id);
  return { claim: claimed.peak.rss, checkout: checkout.peak.rss };
};

type Size = { readonly requests: number; readonly attachments: number; readonly fileBytes: number };

/**
 * Creates an order with `requests` requests of `attachments` attachments each, including one of the order, which is forwarded under
 * each request. Returns the order's id and the files that the carrier must get, sorted, each as "request attachment bytes sha256".
 */
const largeOrder = async ({ requests, attachments, fileBytes }: Size) => {
  const { order: id, requests: ids } = await customer({ requestTypes: Array(requests).fill(addMessagingNumbers) });
  const attach = async (ref: { type: "order" | "request"; id: string }, nth: number) => {
    const parent = await readParent(ref);
    if (!parent) throw new Error(`There is no ${ref.type} ${ref.id}.`);
    const content = Buffer.alloc(fileBytes, createHash("sha512").update(`${ref.id} ${nth}`).digest());
    const { attachment } = await createAttachment(parent, newAttachment(content), operator(), undefined);
    return `${attachment.id} ${attachment.bytes} ${attachment.sha256}`;
  };
  const shared = await attach({ type: "order", id }, 0);
  const expected = ids.map((request) => `${request} ${shared}`);
  await forEachConcurrently(8, ids, async (request) => {
    for (let nth = 1; nth < attachments; nth += 1)
      expected.push(`${request} ${await attach({ type: "request", id: request }, nth)}`);
  });
  return { id, expected: expected.sort() };
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
