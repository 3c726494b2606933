import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import {
  addingRequest,
  deleting,
  newModel,
  type Place,
  places,
  renaming,
  uploading,
} from "../../support/models/interleaving-order.ts";
import {
  afterRenameAndRequest,
  brokenBy,
  type Changes,
  observe,
  withoutReceipts,
  withoutSealCondition,
} from "../../support/models/observer.ts";
import { everySchedule, gate, schedulesAt } from "../../support/models/schedules.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut } from "../../support/servers/workflow.ts";
import { byExtent, extent } from "../../support/setup/extent.ts";

// One call at a time within a step, so that a schedule can be replayed.
vi.mock("../../../shared/checkout/limits.ts", async (original) => {
  const real = await original<typeof import("../../../shared/checkout/limits.ts")>();
  return { ...real, limits: { ...real.limits, concurrency: 1 } };
});

// The files' door, as `observe` is the table's. Storing a file needs no turn: nobody knows of it yet.
vi.mock("../../../shared/attachments/files.ts", async (original) => {
  const real = await original<typeof import("../../../shared/attachments/files.ts")>();
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
afterEach(() => observer.spoil());
afterAll(async () => {
  observer.leave();
  await upstream.close();
});

type Broken = ReturnType<typeof brokenBy>[number];

/** One run of the model's checkout with these two changes under way, and what is made of it. */
const prepare = async (changes: Changes, note: (promises: readonly Broken[]) => "more" | "enough") => {
  const model = await newModel();
  observer.begin();
  const actors = {
    checkout: { run: () => checkOut(model.id) },
    upload: uploading(model, changes.upload),
    delete: deleting(model, changes.delete),
  };
  const check = async () => note(brokenBy(model, changes, observer.seen, await upstream.cart(model.id)));
  return { actors, check };
};

/** A failure names its seed; SEED=… repeats it. */
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

/** At 6 to 16 points of a run another may go. */
const points = 14;

/** Tries every schedule with --full, else some, spread over the run at random. */
const explore = (prepare: Parameters<typeof everySchedule>[0], some: number) => {
  if (extent === "all") return everySchedule(prepare);
  const moments = fc.uniqueArray(fc.noBias(fc.nat(points)), { minLength: 3, maxLength: 3 });
  return schedulesAt(prepare, fc.sample(moments, { numRuns: some, seed }));
};

/** Tries schedules until each of these promises has been broken; those that were broken before there are no more. */
const breakable = async (changes: Changes, ...promises: readonly Broken[]) => {
  const broken = new Set<Broken>();
  const note = (found: readonly Broken[]) => {
    for (const promise of found) broken.add(promise);
    return promises.every((promise) => broken.has(promise)) ? "enough" : "more";
  };
  await explore(() => prepare(changes, note), 100);
  return [...broken].sort();
};

const everyChange: readonly Changes[] = places.flatMap((to) => [
  { upload: to, delete: "first request" },
  { upload: to, delete: "order" },
]);

describe("a checkout during an upload and a delete", { timeout: 900_000 }, () => {
  let total = 0;
  afterAll(() => console.log(`${total} schedules tried`));

  it.each(everyChange)("keeps every promise in each schedule: to the $upload, from the $delete", async (changes) => {
    const broken: Broken[] = [];
    const note = (found: readonly Broken[]) => {
      broken.push(...found);
      return "more" as const;
    };
    const some = byExtent({ sample: 2, most: 40, all: 0 });
    const schedules = await explore(() => prepare(changes, note), some);
    console.log(`upload to the ${changes.upload}, delete from the ${changes.delete}: ${schedules} schedules`);
    total += schedules;
    expect(broken, `SEED=${seed}`).toEqual([]);
    expect(schedules).toBeGreaterThanOrEqual(extent === "all" ? 50 : some);
  });

  it.each(byExtent({ sample: [], most: everyChange, all: everyChange }))(
    "would not without the seal's condition: to the $upload, from the $delete",
    async (changes) => {
      observer.spoil(withoutSealCondition);
      const found = await breakable(changes, "left behind", "missing");
      // A sample of the schedules need not meet both.
      if (extent === "all") expect(found).toEqual(["left behind", "missing"]);
      else expect(["left behind", "missing"]).toEqual(expect.arrayContaining(found.length > 0 ? found : ["neither"]));
    },
  );

  it.runIf(extent !== "sample")("would send files twice without receipts", async () => {
    observer.spoil(withoutReceipts);
    const changes = { upload: "order", delete: "first request" } as const;
    expect(await breakable(changes, "sent twice")).toContain("sent twice");
  });
});

describe("a checkout during a PATCH and the creation of a request", { timeout: 900_000 }, () => {
  const renamed: readonly Place[] = ["first request", "order"];
  type Result = ReturnType<typeof afterRenameAndRequest>;

  const run = async (place: Place, note: (result: Result) => "more" | "enough") => {
    const model = await newModel();
    observer.begin();
    const actors = {
      checkout: { run: () => checkOut(model.id) },
      rename: renaming(model, place),
      request: addingRequest(model),
    };
    const check = async () => note(afterRenameAndRequest(model, place, observer.seen, await upstream.cart(model.id)));
    return { actors, check };
  };

  it.each(renamed)("keeps every promise in each schedule: to the metadata of the %s", async (place) => {
    const results: Result[] = [];
    const note = (result: Result) => {
      results.push(result);
      return "more" as const;
    };
    const schedules = await explore(() => run(place, note), byExtent({ sample: 4, most: 40, all: 0 }));
    console.log(`PATCH of the ${place} and a new request: ${schedules} schedules`);
    for (const { expected, held } of results) expect(held, `SEED=${seed}`).toEqual(expected);
  });

  it("would not without the seal's condition", async () => {
    observer.spoil(withoutSealCondition);
    let broken = 0;
    const note = ({ expected, held }: Result) => {
      if (expected.join() !== held.join()) broken += 1;
      return broken > 0 ? ("enough" as const) : ("more" as const);
    };
    await explore(() => run("order", note), 100);
    expect(broken).toBe(1);
  });
});
