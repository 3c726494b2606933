import { createHash } from "node:crypto";
import { GetObjectCommand, paginateListObjectsV2, S3Client } from "@aws-sdk/client-s3";
import pLimit from "p-limit";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { form } from "../../support/fixtures/attachments.ts";
import {
  attachmentPaths,
  createdId,
  killUnderLoad,
  type Ledger,
  newLedger,
} from "../../support/processes/kill-under-load.ts";
import { type LocalService, localServices } from "../../support/processes/local-service.ts";
import { byExtent } from "../../support/setup/extent.ts";

/** Kills the process group of `npm start -- --data` with SIGKILL while it is working. */

let services: ReturnType<typeof localServices>;
beforeEach(() => {
  services = localServices();
});
afterEach(() => services.remove());

const figures: { killed: string; times: number; detail: string }[] = [];
afterAll(() => console.table(figures));

const Page = z.object({
  data: z.object({
    items: z.array(z.object({ data: z.object({ id: z.string(), name: z.optional(z.string()) }) })),
    page_info: z.object({ after: z.nullable(z.string()), total: z.number() }),
  }),
});

/** Every document of a list, by id. Checks the total. */
const readList = async ({ url, demo }: LocalService, path: string) => {
  const found = new Map<string, string | undefined>();
  for (let after = ""; ; ) {
    const headers = { authorization: `Bearer ${demo.KEY}` };
    const response = await fetch(`${url}${path}?first=100${after && `&after=${after}`}`, { headers });
    const { items, page_info } = z.parse(Page, await response.json()).data;
    for (const { data } of items) found.set(data.id, data.name);
    if (page_info.after === null) {
      expect(found.size, `the total of ${path}`).toBe(page_info.total);
      return found;
    }
    after = encodeURIComponent(page_info.after);
  }
};

/** Differences between a service and its clients' confirmed writes. */
const wrongWith = async (service: LocalService, { attachments, switches, deleted, uncertain }: Ledger) => {
  const lists = await Promise.all(
    [...attachmentPaths(service), "/api/v1/switches"].map((path) => readList(service, path)),
  );
  const found = new Map(lists.flatMap((list) => [...list]));
  const sure = (id: string) => !uncertain.has(id);
  return [
    ...[...attachments].filter(([id, { name }]) => sure(id) && found.get(id) !== name).map(([id]) => `lost: ${id}`),
    ...[...switches].filter((id) => sure(id) && !found.has(id)).map((id) => `lost: switch ${id}`),
    ...[...deleted].filter((id) => found.has(id)).map((id) => `still there: ${id}`),
  ];
};

/** The SHA-256 of every file in the bucket, by the id of its attachment. */
const storedFiles = async ({ environment }: LocalService): Promise<Map<string, string>> => {
  const { AWS_ENDPOINT_URL_S3: endpoint = "", BUCKET_NAME: Bucket = "" } = environment;
  const client = new S3Client({ endpoint, forcePathStyle: true });
  const pages = await Array.fromAsync(paginateListObjectsV2({ client }, { Bucket }));
  const keys = pages.flatMap(({ Contents = [] }) => Contents.flatMap(({ Key }) => Key ?? []));
  const limit = pLimit(10);
  const digest = async (Key: string): Promise<[string, string]> => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
    const content = (await Body?.transformToByteArray()) ?? "";
    return [Key.slice(Key.lastIndexOf("/") + 1), createHash("sha256").update(content).digest("hex")];
  };
  return new Map(await Promise.all(keys.map((key) => limit(() => digest(key)))));
};

const Findings = z.array(z.object({ level: z.enum(["violation", "notice"]), rule: z.string() }));

/** Runs `admin check`, which must succeed; returns how many files and deletes are left to the sweep. */
const check = async (service: LocalService): Promise<number> => {
  const { code, stdout } = await service.admin("check", "--json");
  const found = z.parse(Findings, JSON.parse(stdout));
  expect([code, found.filter(({ level }) => level === "violation")]).toEqual([0, []]);
  return found.length;
};

describe("npm start -- --data", () => {
  // In `npm test`, data.test.ts kills the service once.
  const kills = byExtent({ sample: 0, most: 4, all: 30 });
  it.runIf(kills > 0)(
    `loses no confirmed write when it is killed under load ${kills} times`,
    { timeout: 1_800_000 },
    async () => {
      const ledger = newLedger();
      let service = await services.start();
      for (let kill = 0; kill < kills; kill += 1) {
        // A different moment each time, from just started to after many writes.
        await killUnderLoad(service, ledger, 200 + ((kill * 370) % 1_500));
        service = await services.start();
        expect(await wrongWith(service, ledger), `after kill ${kill + 1}`).toEqual([]);
        // Writes in flight leave at most a file or an unfinished delete for the sweep.
        expect(await check(service), `after kill ${kill + 1}`).toBeLessThanOrEqual(ledger.unconfirmed);
      }
      const stored = await storedFiles(service);
      const damaged = [...ledger.attachments].filter(
        ([id, { sha256 }]) => !ledger.uncertain.has(id) && stored.get(id) !== sha256,
      );
      expect(damaged).toEqual([]);
      expect(ledger.unexpected.slice(0, 3)).toEqual([]);
      expect(ledger.confirmed).toBeGreaterThan(kills * 10);
      const { confirmed, unconfirmed } = ledger;
      figures.push({ killed: "under load", times: kills, detail: `${confirmed} writes confirmed, ${unconfirmed} not` });
    },
  );
});

const Cart = z.object({
  checked_out: z.boolean(),
  attachments: z.array(z.object({ request_id: z.string(), attachment_id: z.string(), received: z.number() })),
  calls: z.array(z.object({ method: z.string(), path: z.string() })),
});

const cartOf = async ({ environment }: LocalService, order: string) =>
  z.parse(Cart, await (await fetch(`${environment.CARRIER_URL}/carts/${order}`)).json());

const Applied = z.object({
  keys: z.record(z.string(), z.object({ key: z.string() })),
  orders: z.record(z.string(), z.object({ id: z.string() })),
  requests: z.record(z.string(), z.object({ id: z.string() })),
});

const features = { ordering_attachment_access: true };
const permissions = ["request", "order"].flatMap((kind) => [
  `ordering_${kind}_attachments:*`,
  `ordering_${kind}s:*`,
  kind === "order" ? "ordering_carts:*" : "ordering_cart_requests:*",
]);

/** Creates orders of two requests, with a file for each request and one for the order, which is forwarded under both. */
const makeOrders = async (service: LocalService, count: number) => {
  const names = Array.from({ length: count }, (_, n) => `order${n}`);
  const document = {
    accounts: { shop: { name: "Shop", features } },
    users: { shop: { account: "shop", permissions } },
    keys: { shop: { account: "shop", user: "shop" } },
    orders: Object.fromEntries(names.map((name) => [name, { account: "shop" }])),
    requests: Object.fromEntries(
      names.flatMap((order) => ["a", "b"].map((at) => [`${order}${at}`, { order, type: "ADD_MESSAGING_NUMBERS" }])),
    ),
  };
  const { keys, orders, requests } = z.parse(Applied, await service.apply(document));
  const headers = { authorization: `Bearer ${keys.shop?.key}` };
  const upload = async (path: string) => {
    const response = await fetch(`${service.url}/api/v1/${path}/attachments`, {
      method: "POST",
      headers,
      body: form(),
    });
    return createdId(await response.text());
  };
  return Promise.all(
    names.map(async (name) => {
      const [a, b] = [requests[`${name}a`]?.id ?? "", requests[`${name}b`]?.id ?? ""];
      const id = orders[name]?.id ?? "";
      const shared = await upload(`orders/${id}`);
      const own = [`${a} ${await upload(`requests/${a}`)}`, `${b} ${await upload(`requests/${b}`)}`];
      return { id, requests: [a, b], expected: [...own, `${a} ${shared}`, `${b} ${shared}`].sort() };
    }),
  );
};

type MadeOrder = Awaited<ReturnType<typeof makeOrders>>[number];

/** The calls that are delayed until the kill, before or after the carrier handles them. */
const holdUps = [
  { method: "PUT", action: "delay", path: ({ id }: MadeOrder) => `/carts/${id}/` },
  { method: "PUT", action: "delay", path: ({ id, requests }: MadeOrder) => `/carts/${id}/requests/${requests[1]}/` },
  { method: "PUT", action: "drop-after", path: ({ id }: MadeOrder) => `/carts/${id}/` },
  { method: "POST", action: "delay", path: ({ id }: MadeOrder) => `/carts/${id}/checkout` },
  { method: "POST", action: "drop-after", path: ({ id }: MadeOrder) => `/carts/${id}/checkout` },
] as const;

/** Starts all checkouts, and kills the service once each has reached its delayed call. */
const killAtWork = async (service: LocalService, orders: readonly MadeOrder[]) => {
  const held = orders.map((order, n) => ({ order, ...(holdUps[n % holdUps.length] ?? holdUps[0]) }));
  for (const { order, method, action, path } of held) {
    const fault = { method, action, path: path(order), times: 1_000, delay_ms: 120_000 };
    await fetch(`${service.environment.CARRIER_URL}/faults`, { method: "POST", body: JSON.stringify(fault) });
    await service.startCheckout(order.id);
  }
  for (const { order, method, path } of held)
    await vi.waitUntil(
      async () => {
        const { calls } = await cartOf(service, order.id);
        return calls.some((call) => call.method === method && call.path.startsWith(path(order)));
      },
      { timeout: 60_000 },
    );
  await service.kill();
};

const carriedOut = async (service: LocalService, order: string) => {
  const { checked_out, attachments } = await cartOf(service, order);
  const held = attachments.map(({ request_id, attachment_id }) => `${request_id} ${attachment_id}`).sort();
  return { checked_out, held, twice: attachments.filter(({ received }) => received !== 1) };
};

describe("a checkout", () => {
  const rounds = byExtent({ sample: 0, most: 1, all: 2 });
  // Each next run waits two and a half minutes for calls of the killed one, too long for `npm test`.
  it.runIf(rounds > 0)(
    "that was killed with the service and its carrier is completed by the next run, with each file at the carrier once",
    { timeout: 1_800_000 },
    async () => {
      let service = await services.start();
      const all: MadeOrder[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const orders = await makeOrders(service, 10);
        await killAtWork(service, orders);
        service = await services.start();
        for (const { id } of orders) expect((await service.admin("order", "checkout", id)).code, id).toBe(0);
        for (const { id } of orders) {
          const { code, stdout, stderr } = await service.admin("order", "checkout", id, "--wait");
          expect([code, stdout], `${id} ${stderr}`).toEqual([0, expect.stringContaining("SUCCEEDED")]);
        }
        all.push(...orders);
      }
      for (const { id, expected } of all)
        expect(await carriedOut(service, id), id).toMatchObject({ checked_out: true, held: expected, twice: [] });
      expect(await check(service)).toBe(0);
      const detail = `at ${holdUps.length} moments, ${all.length / holdUps.length} at each`;
      figures.push({ killed: "checking out", times: all.length, detail });
    },
  );
});
