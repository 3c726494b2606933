import { afterAll, beforeAll, describe, it, vi } from "vitest";
import { carrier } from "../support/carrier.ts";
import { deleting, newModel, uploading } from "../support/model.ts";
import { brokenBy, type Changes, observe, withoutSealCondition } from "../support/observer.ts";
import { everySchedule, gate } from "../support/schedules.ts";
import { checkOut } from "../support/workflow.ts";

// One call at a time within a step, so that a schedule can be replayed.
vi.mock("../../shared/checkout/limits.ts", async (original) => {
  const real = await original<typeof import("../../shared/checkout/limits.ts")>();
  return { ...real, limits: { ...real.limits, concurrency: 1 } };
});

// The files' door, as `observe` is the table's. Storing a file needs no turn: nobody knows of it yet.
vi.mock("../../shared/files.ts", async (original) => {
  const real = await original<typeof import("../../shared/files.ts")>();
  const inTurn =
    <T>(call: (key: string) => Promise<T>) =>
    async (key: string) => {
      await gate([key]);
      return call(key);
    };
  return { ...real, openFile: inTurn(real.openFile), removeFile: inTurn(real.removeFile) };
});

let upstream: Awaited<ReturnType<typeof carrier>>;
let observer: ReturnType<typeof observe>;
beforeAll(async () => {
  upstream = await carrier();
  observer = observe();
});
afterAll(async () => {
  observer.leave();
  await upstream.close();
});

/** Tries every schedule of a checkout with these two changes; how many there were, and in how many what was broken. */
const tryAll = async (changes: Changes, spoil?: Parameters<typeof observer.begin>[0]) => {
  const broken: Record<string, number> = {};
  const schedules = await everySchedule(async () => {
    const model = await newModel();
    const statuses: string[] = [];
    observer.begin(spoil);
    const actors = {
      checkout: { run: async () => statuses.push((await checkOut(model.id)).status) },
      upload: uploading(model, changes.upload),
      delete: deleting(model, changes.delete),
    };
    const check = async () => {
      for (const promise of brokenBy(model, changes, observer.seen, await upstream.cart(model.id)))
        broken[promise] = (broken[promise] ?? 0) + 1;
      if (statuses[0] !== "SUCCEEDED") broken[String(statuses)] = (broken[String(statuses)] ?? 0) + 1;
    };
    return { actors, check };
  });
  return { schedules, broken };
};

const everyChange: Changes[] = [
  { upload: "first request", delete: "first request" },
  { upload: "second request", delete: "first request" },
  { upload: "order", delete: "first request" },
  { upload: "first request", delete: "order" },
  { upload: "second request", delete: "order" },
  { upload: "order", delete: "order" },
];

describe("whatever the order of the calls", () => {
  it.each(everyChange)("x", async (changes) => {
    const t = Date.now();
    const r = await tryAll(changes);
    console.log(JSON.stringify(changes), JSON.stringify(r), Date.now() - t);
  }, 300_000);
  it.each(everyChange)("no seal", async (changes) => {
    const t = Date.now();
    const r = await tryAll(changes, withoutSealCondition);
    console.log(JSON.stringify(changes), JSON.stringify(r), Date.now() - t);
  }, 300_000);
});
