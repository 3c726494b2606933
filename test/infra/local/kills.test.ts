import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import { afterAll, expect, it } from "vitest";
import * as z from "zod/mini";
import { attachmentOf, form, pdf } from "../../support/fixtures/attachments.ts";
import { type LocalService, localServices, sha256 } from "../../support/processes/local-service.ts";
import { call } from "../../support/requests/client.ts";
import { byExtent } from "../../support/setup/extent.ts";

/** Kills the process group of `npm start -- --data` with SIGKILL while clients write. In `npm test`, data.test.ts does so once. */
const kills = byExtent({ sample: 0, most: 4, all: 30 });

const services = localServices();
afterAll(() => services.remove());

/**
 * What clients know of each attachment by its path: its name, or undefined if it is deleted. One whose last request was not
 * confirmed is left out, as either outcome is correct. A file is the first word of its attachment's name.
 */
const known = new Map<string, string | undefined>();
const counts = { confirmed: 0, unconfirmed: 0 };

/** Sends a write; returns the response if it was confirmed, undefined if its outcome is unknown. */
const confirmed = async (response: ReturnType<typeof call>) => {
  const { status, text } = await response;
  counts[status < 300 ? "confirmed" : "unconfirmed"] += 1;
  expect([200, 201, 503], text).toContain(status);
  return status < 300 ? response : undefined;
};

/** Creates attachments without a pause until the service is killed, deletes every third and changes every third. */
const writeUntilGone = async (path: string, key: string) => {
  try {
    for (let n = 0; ; n += 1) {
      const name = randomUUID();
      const body = form({ "data[name]": name }, pdf("loa.pdf", name));
      const created = await confirmed(call("POST", path, { key, body }));
      if (!created) continue;
      const own = `${path}/${attachmentOf(created).id}`;
      if (n % 3 === 0) known.set(own, name);
      if (n % 3 === 1 && (await confirmed(call("DELETE", own, { key })))) known.set(own, undefined);
      const type = path.includes("/orders/") ? "order_attachment" : "request_attachment";
      const json = { type, data: { name: `${name} changed` } };
      if (n % 3 === 2 && (await confirmed(call("PATCH", own, { key, json })))) known.set(own, `${name} changed`);
    }
  } catch (error) {
    // fetch throws it if the connection breaks or is refused.
    if (!(error instanceof TypeError)) throw error;
    counts.unconfirmed += 1;
  }
};

/** Lets six clients write to a service, and kills it after `afterMs`, but not before it has confirmed a few writes. */
const killUnderLoad = async (service: LocalService, afterMs: number) => {
  const { REQUEST, ORDER, KEY = "" } = service.demo;
  process.env.PATCHBAY_URL = service.url;
  const paths = [`/api/v1/requests/${REQUEST}/attachments`, `/api/v1/orders/${ORDER}/attachments`];
  const writing = [...paths, ...paths, ...paths].map((path) => writeUntilGone(path, KEY));
  const before = counts.confirmed;
  await sleep(afterMs);
  // On a busy machine the first response may take longer than that.
  for (let waits = 0; counts.confirmed - before <= 10 && waits < 1_000; waits += 1) await sleep(20);
  await service.kill();
  await Promise.all(writing);
};

/** The attachments that are not as their clients know them, or whose file is not the one uploaded. */
const wrongIn = async (service: LocalService) => {
  process.env.PATCHBAY_URL = service.url;
  const limit = pLimit(10);
  const files = await service.files();
  const isWrong = async (path: string, name: string | undefined) => {
    const response = await call("GET", path, { key: service.demo.KEY });
    if (name === undefined) return response.status !== 404;
    const file = files.get(path.slice(path.lastIndexOf("/") + 1));
    return response.status !== 200 || attachmentOf(response).name !== name || file !== sha256(name.split(" ")[0] ?? "");
  };
  const checked = [...known].map(([path, name]) => limit(async () => ((await isWrong(path, name)) ? path : [])));
  return (await Promise.all(checked)).flat();
};

const Findings = z.array(z.object({ level: z.enum(["violation", "notice"]), rule: z.string() }));

it.runIf(kills > 0)(`loses no confirmed write in ${kills} kills`, { timeout: 1_800_000 }, async () => {
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
  expect(counts.confirmed).toBeGreaterThan(kills * 10);
});
