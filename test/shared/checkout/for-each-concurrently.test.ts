import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { forEachConcurrently } from "../../../shared/checkout/for-each-concurrently.ts";

describe("forEachConcurrently", () => {
  it("runs the work for each item, with no more at a time than the limit", async () => {
    let [running, peak] = [0, 0];
    const done: number[] = [];
    await forEachConcurrently(3, [1, 2, 3, 4, 5, 6, 7], async (item) => {
      running += 1;
      peak = Math.max(peak, running);
      await sleep(5);
      running -= 1;
      done.push(item);
    });
    expect({ peak, done: done.sort() }).toEqual({ peak: 3, done: [1, 2, 3, 4, 5, 6, 7] });
  });

  it("starts nothing more after an error, and rejects once the running work has ended", async () => {
    const events: string[] = [];
    const work = forEachConcurrently(2, ["fails", "is slow", "is never started"], async (item) => {
      events.push(`${item}: started`);
      if (item === "fails") throw new Error("injected failure");
      await sleep(20);
      events.push(`${item}: ended`);
    });
    await expect(work).rejects.toThrow("injected failure");
    expect(events).toEqual(["fails: started", "is slow: started", "is slow: ended"]);
  });
});
