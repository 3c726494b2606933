import { createHash } from "node:crypto";
import { GetObjectCommand, paginateListObjectsV2, S3Client } from "@aws-sdk/client-s3";
import pLimit from "p-limit";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { attachmentPaths, killUnderLoad, type Ledger, newLedger } from "../../support/processes/kill-under-load.ts";
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
