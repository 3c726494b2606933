import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { forEachConcurrently } from "../../shared/for-each-concurrently.ts";

it("concurrent work starts nothing more after an error, and rejects once the running work has ended", async () => {
  const events: string[] = [];
  const items = (async function* () {
    yield* ["is slow", "fails", "is never started"];
  })();
  const work = forEachConcurrently(3, items, async (item) => {
    events.push(`${item}: started`);
    if (item === "fails") throw new Error("injected failure");
    await sleep(20);
    events.push(`${item}: ended`);
  });
  await expect(work).rejects.toThrow("injected failure");
  expect(events).toEqual(["is slow: started", "fails: started", "is slow: ended"]);
});
