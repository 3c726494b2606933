import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pageOf, upload } from "../../support/fixtures/attachments.ts";
import { sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";
import { byExtent } from "../../support/setup/extent.ts";

/** Compares lists with a plain array, the model: after any creates, deletes and page walks, each page is a slice of it. */

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("create" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), at: fc.nat(100) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("walk" as const),
      size: fc.integer({ min: 1, max: 5 }),
      backward: fc.boolean(),
      deleteWhileWalking: fc.boolean(),
    }),
  },
);
type Walk = Extract<typeof step extends fc.Arbitrary<infer Step> ? Step : never, { do: "walk" }>;

describe.each(sampledParentTypes("request"))("the list of the attachments of a %s", (kind) => {
  it("equals the model page by page, after any creates, deletes and walks, also where the item of a cursor is deleted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
        const t = await tenants();
        const path = t.attachments(kind, "acme");
        const key = t.key("acme");
        let model: string[] = [];

        const remove = async (at: number) => {
          const id = model[at % model.length];
          if (id === undefined) return;
          expect((await call("DELETE", `${path}/${id}`, { key })).status).toBe(200);
          model = model.filter((other) => other !== id);
        };

        /** Reads page after page and compares each with the model. */
        const walk = async ({ size, backward, deleteWhileWalking }: Walk) => {
          let startAfter: string | undefined;
          let cursor: string | null = null;
          do {
            const [count, name] = backward ? ["last", "before"] : ["first", "after"];
            const query = `?${count}=${size}${cursor === null ? "" : `&${name}=${encodeURIComponent(cursor)}`}`;
            const page = pageOf(await call("GET", path + query, { key }));
            const remaining = model.filter(
              (id) => startAfter === undefined || (backward ? id < startAfter : id > startAfter),
            );
            const ids = backward ? remaining.slice(-size) : remaining.slice(0, size);
            const [first, last] = [ids.at(0), ids.at(-1)];
            expect({ ...page, before: page.before !== null, after: page.after !== null }).toEqual({
              ids,
              limit: size,
              total: model.length,
              before: first !== undefined && model.some((id) => id < first),
              after: last !== undefined && model.some((id) => id > last),
            });
            cursor = backward ? page.before : page.after;
            startAfter = backward ? first : last;
            if (deleteWhileWalking && startAfter !== undefined) await remove(model.indexOf(startAfter));
          } while (cursor !== null);
        };

        for (const next of steps) {
          if (next.do === "create") model = [...model, (await upload(path, key)).id].sort();
          else if (next.do === "delete") await remove(next.at);
          else await walk(next);
        }
      }),
      { numRuns: byExtent({ sample: 2, most: 15, all: 150 }) },
    );
  });
});
