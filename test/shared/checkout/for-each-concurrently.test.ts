import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { forEachConcurrently } from "../../../shared/checkout/for-each-concurrently.ts";

describe("forEachConcurrently work", () => {
  it("is done for each item, never more at a time than told", async () => {
    let [atWork, most] = [0, 0];
    const done: number[] = [];
    await forEachConcurrently(3, [1, 2, 3, 4, 5, 6, 7], async (item) => {
      atWork += 1;
      most = Math.max(most, atWork);
      await sleep(5);
      atWork -= 1;
      done.push(item);
    });
    expect({ most, done: done.sort() }).toEqual({ most: 3, done: [1, 2, 3, 4, 5, 6, 7] });
  });

  it("ends with the first error, once what had begun has ended, and begins nothing more", async () => {
    const events: string[] = [];
    const work = forEachConcurrently(2, ["fails", "is slow", "is never begun"], async (item) => {
      events.push(`${item}: begun`);
      if (item === "fails") throw new Error("told to fail");
      await sleep(20);
      events.push(`${item}: ended`);
    });
    await expect(work).rejects.toThrow("told to fail");
    expect(events).toEqual(["fails: begun", "is slow: begun", "is slow: ended"]);
  });
});
