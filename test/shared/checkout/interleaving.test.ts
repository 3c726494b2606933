import { DeleteObjectCommand, GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { checkoutLimits } from "../../../shared/checkout/limits.ts";
import { actorsOf, type Changes, newModel, places } from "../../support/models/interleaving-order.ts";
import { checkHistory } from "../../support/models/invariants.ts";
import { brokenPromises, observe, withoutReceipts, withoutSealCondition } from "../../support/models/observer.ts";
import { everySchedule, schedulesAt, waitForTurn } from "../../support/models/schedules.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut } from "../../support/servers/workflow.ts";
import { byExtent, extent } from "../../support/setup/extent.ts";

const { concurrency } = checkoutLimits;
const upstream = await carrier();
let observer: ReturnType<typeof observe>;
beforeAll(() => {
  observer = observe();
  // Steps make one call at a time, so that a schedule can be replayed.
  Object.assign(checkoutLimits, { concurrency: 1 });
  // Calls to S3 wait for their turn, like those that `observe` intercepts. Storing a file does not: nothing refers to it yet.
  const { send } = S3Client.prototype;
  vi.spyOn(S3Client.prototype, "send").mockImplementation(async function (this: S3Client, command) {
    if (command instanceof GetObjectCommand || command instanceof DeleteObjectCommand)
      await waitForTurn([command.input.Key ?? ""]);
    return Reflect.apply(send, this, [command]);
  });
});
afterEach(() => observer.rewriteCalls());
afterAll(async () => {
  vi.restoreAllMocks();
  Object.assign(checkoutLimits, { concurrency });
  observer.stop();
  await upstream.close();
});

type Broken = ReturnType<typeof brokenPromises>[number];

type Note = (promises: readonly Broken[]) => "more" | "enough";

/** Prepares a checkout with concurrent changes, and the check of its outcome. Rewritten calls break the history, too. */
const prepare = async (changes: Changes, note: Note, { isBroken = false } = {}) => {
  const model = await newModel();
  observer.begin();
  const actors = { checkout: { run: () => checkOut(model.id) }, ...actorsOf(model, changes) };
  const check = async () => {
    if (!isBroken) expect(await checkHistory(model.id), `SEED=${seed}`).toEqual([]);
    return note(brokenPromises(model, changes, observer.observed, await upstream.cart(model.id)));
  };
  return { actors, check };
};

/** A failure prints its seed; SEED=… repeats it. */
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

/** A run has 6 to 16 points at which another actor may take its turn. */
const points = 14;

/** Runs every schedule with --full, otherwise a random sample of them. */
const explore = (prepare: Parameters<typeof everySchedule>[0], some: number) => {
  if (extent === "all") return everySchedule(prepare);
  const moments = fc.uniqueArray(fc.noBias(fc.nat(points)), { minLength: 3, maxLength: 3 });
  return schedulesAt(prepare, fc.sample(moments, { numRuns: some, seed }));
};

/** Runs schedules until each of these promises is broken; returns those that were. */
const findBroken = async (changes: Changes, ...promises: readonly Broken[]) => {
  const broken = new Set<Broken>();
  const note = (found: readonly Broken[]) => {
    for (const promise of found) broken.add(promise);
    return promises.every((promise) => broken.has(promise)) ? "enough" : "more";
  };
  await explore(() => prepare(changes, note, { isBroken: true }), 100);
  return [...broken].sort();
};

const everyChange: readonly Changes[] = [
  ...places.flatMap((upload) => [{ upload, delete: "first request" } as const, { upload, delete: "order" } as const]),
  { rename: "first request", request: "new" },
  { rename: "order", request: "new" },
];

describe("a checkout during other requests", { timeout: 900_000 }, () => {
  it.each(everyChange)("misses, leaves behind or repeats no file in any schedule: %j", async (changes) => {
    const broken: Broken[] = [];
    const note = (found: readonly Broken[]) => {
      broken.push(...found);
      return "more" as const;
    };
    const count = byExtent({ sample: 1, most: 20, all: 0 });
    const schedules = await explore(() => prepare(changes, note), count);
    console.log(`${JSON.stringify(changes)}: ${schedules} schedules`);
    expect(broken, `SEED=${seed}`).toEqual([]);
    expect(schedules).toBeGreaterThanOrEqual(extent === "all" ? 50 : count);
  });

  it.each(byExtent({ sample: [], most: everyChange, all: everyChange }))(
    "fails without the seal's condition: %j",
    async (changes) => {
      observer.rewriteCalls(withoutSealCondition);
      const found = await findBroken(changes, "left behind", "missing");
      // A sample of the schedules may not break both.
      if (extent === "all") expect(found).toEqual(["left behind", "missing"]);
      else expect(["left behind", "missing"]).toEqual(expect.arrayContaining(found.length > 0 ? found : ["neither"]));
    },
  );

  it.runIf(extent !== "sample")("sends files twice without receipts", async () => {
    observer.rewriteCalls(withoutReceipts);
    expect(await findBroken({ upload: "order", delete: "first request" }, "sent twice")).toContain("sent twice");
  });
});
