import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { GetObjectCommand, paginateListObjectsV2, S3Client } from "@aws-sdk/client-s3";
import pLimit from "p-limit";
import { afterAll, expect, it } from "vitest";
import * as z from "zod/mini";
import { form, pdf } from "../../support/fixtures/attachments.ts";
import { type LocalService, localServices } from "../../support/processes/local-service.ts";
import { byExtent } from "../../support/setup/extent.ts";

/** Kills the process group of `npm start -- --data` with SIGKILL while clients write. */

const services = localServices();
afterAll(() => services.remove());

/**
 * What clients know of each resource: its name and the hash of its file, or that it is deleted. A resource whose last request
 * was not confirmed is left out, as either outcome is correct.
 */
const known = new Map<string, { readonly name: string; readonly sha256: string | undefined } | "deleted">();
const counts = { confirmed: 0, unconfirmed: 0 };
const unexpected: string[] = [];

const sha256Of = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");

const pathsOf = ({ demo }: LocalService) => [
  `/api/v1/requests/${demo.REQUEST}/attachments`,
  `/api/v1/orders/${demo.ORDER}/attachments`,
  "/api/v1/switches",
];

/** Sends a write; returns the response if it was confirmed, undefined if its outcome is unknown. */
const send = async (service: LocalService, method: string, path: string, body?: FormData | object) => {
  const isForm = body instanceof FormData;
  const headers = {
    authorization: `Bearer ${service.demo.KEY}`,
    ...(body && !isForm && { "content-type": "application/json" }),
  };
  const init = { method, headers, ...(body && { body: isForm ? body : JSON.stringify(body) }) };
  const response = await fetch(service.url + path, init);
  const text = await response.text();
  counts[response.ok ? "confirmed" : "unconfirmed"] += 1;
  if (response.ok) return text;
  if (response.status !== 503) unexpected.push(`${method} ${path}: ${response.status} ${text}`);
};

const Created = z.object({ type: z.string(), data: z.object({ id: z.string() }) });

/** Creates a resource, and deletes every third and changes every third. */
const write = async (service: LocalService, path: string, n: number) => {
  const name = randomUUID();
  const isSwitch = path.endsWith("/switches");
  const created = await send(
    service,
    "POST",
    path,
    isSwitch ? { type: "switch", data: { name } } : form({ "data[name]": name }, pdf("loa.pdf", name)),
  );
  if (!created) return;
  const { type, data } = z.parse(Created, JSON.parse(created));
  const sha256 = isSwitch ? undefined : sha256Of(name);
  known.set(data.id, { name, sha256 });
  if (n % 3 === 0) return;
  known.delete(data.id);
  const [remove, changed] = [n % 3 === 1, `changed ${name}`];
  const done = remove
    ? await send(service, "DELETE", `${path}/${data.id}`)
    : await send(service, "PATCH", `${path}/${data.id}`, { type, data: { name: changed } });
  if (done) known.set(data.id, remove ? "deleted" : { name: changed, sha256 });
};

/** Writes without a pause until the service is killed. */
const writeUntilGone = async (service: LocalService, writer: number) => {
  const path = pathsOf(service)[writer % 3] ?? "";
  try {
    for (let n = writer; ; n += 1) await write(service, path, n);
  } catch (error) {
    // fetch throws it if the connection breaks or is refused.
    if (!(error instanceof TypeError)) throw error;
    counts.unconfirmed += 1;
  }
};

/** Lets six clients write to a service, and kills it after `afterMs`, but not before it has confirmed a few writes. */
const killUnderLoad = async (service: LocalService, afterMs: number) => {
  const writing = Array.from({ length: 6 }, (_, writer) => writeUntilGone(service, writer));
  const before = counts.confirmed;
  await sleep(afterMs);
  // On a busy machine the first response may take longer than that.
  for (let waits = 0; counts.confirmed - before <= 10 && waits < 1_000; waits += 1) await sleep(20);
  await service.kill();
  await Promise.all(writing);
};

const Page = z.object({
  data: z.object({
    items: z.array(z.object({ data: z.object({ id: z.string(), name: z.string() }) })),
    page_info: z.object({ after: z.nullable(z.string()), total: z.number() }),
  }),
});

/** The names in a list by id. Checks the total. */
const readList = async ({ url, demo }: LocalService, path: string) => {
  const found = new Map<string, string>();
  const headers = { authorization: `Bearer ${demo.KEY}` };
  for (let after: string | null = ""; after !== null; ) {
    const query: string = `?first=100${after && `&after=${encodeURIComponent(after)}`}`;
    const { items, page_info } = z.parse(Page, await (await fetch(url + path + query, { headers })).json()).data;
    for (const { data } of items) found.set(data.id, data.name);
    after = page_info.after;
    if (after === null) expect(found.size, `the total of ${path}`).toBe(page_info.total);
  }
  return found;
};

/** The ids of resources that are not as their clients know them. */
const wrongIn = async (service: LocalService) => {
  const lists = await Promise.all(pathsOf(service).map((path) => readList(service, path)));
  const found = new Map(lists.flatMap((list) => [...list]));
  return [...known].filter(([id, at]) => (at === "deleted" ? found.has(id) : found.get(id) !== at.name));
};

/** The SHA-256 of every file in the bucket, by the id of its attachment. */
const storedFiles = async ({ environment }: LocalService): Promise<Map<string, string>> => {
  const { AWS_ENDPOINT_URL_S3: endpoint = "", BUCKET_NAME: Bucket = "" } = environment;
  const client = new S3Client({ endpoint, forcePathStyle: true });
  const pages = await Array.fromAsync(paginateListObjectsV2({ client }, { Bucket }));
  const limit = pLimit(10);
  const digest = async (Key: string): Promise<[string, string]> => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
    return [Key.slice(Key.lastIndexOf("/") + 1), sha256Of((await Body?.transformToByteArray()) ?? "")];
  };
  const keys = pages.flatMap(({ Contents = [] }) => Contents.flatMap(({ Key }) => Key ?? []));
  return new Map(await Promise.all(keys.map((key) => limit(() => digest(key)))));
};

const Findings = z.array(z.object({ level: z.enum(["violation", "notice"]), rule: z.string() }));

/** In `npm test`, data.test.ts kills the service once. */
const kills = byExtent({ sample: 0, most: 4, all: 30 });

it.runIf(kills > 0)(
  `npm start -- --data loses no confirmed write when it is killed ${kills} times`,
  {
    timeout: 1_800_000,
  },
  async () => {
    let service = await services.start();
    for (let kill = 1; kill <= kills; kill += 1) {
      // A different moment each time, from just started to after many writes.
      await killUnderLoad(service, 200 + ((kill * 370) % 1_500));
      service = await services.start();
      expect(await wrongIn(service), `after kill ${kill}`).toEqual([]);
      const { code, stdout } = await service.admin("check", "--json");
      const found = z.parse(Findings, JSON.parse(stdout));
      expect([code, found.filter(({ level }) => level === "violation")]).toEqual([0, []]);
      // Writes in flight leave at most a file or an unfinished delete for the sweep.
      expect(found.length, `after kill ${kill}`).toBeLessThanOrEqual(counts.unconfirmed);
    }
    const stored = await storedFiles(service);
    const damaged = [...known].filter(([id, at]) => at !== "deleted" && at.sha256 !== stored.get(id));
    expect([damaged, unexpected.slice(0, 3)]).toEqual([[], []]);
    expect(counts.confirmed).toBeGreaterThan(kills * 10);
    console.table({ kills, ...counts });
  },
);
