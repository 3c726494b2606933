import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pageOf, upload } from "../../support/fixtures/attachments.ts";
import { kinds, tenants } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";
import { byExtent } from "../../support/setup/extent.ts";

/** A list against a plain array: whatever is created, deleted and walked in between, every page is the model's slice. */

type Step =
  | { readonly do: "create" }
  | { readonly do: "delete"; readonly at: number }
  | { readonly do: "walk"; readonly size: number; readonly backward: boolean; readonly deleteWhileWalking: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ do: "create" } as const) },
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

describe.each(kinds)("the list of the attachments of a %s", (kind) => {
  it("is the model's, page by page, under any creates, deletes and walks", async () => {
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

        /** One page, and what the model says it must be. */
        const walk = async ({ size, backward, deleteWhileWalking }: Extract<Step, { do: "walk" }>) => {
          let beyond: string | undefined;
          let cursor: string | null = null;
          do {
            const [count, name] = backward ? ["last", "before"] : ["first", "after"];
            const query = `?${count}=${size}${cursor === null ? "" : `&${name}=${encodeURIComponent(cursor)}`}`;
            const page = pageOf(await call("GET", path + query, { key }));
            const left = model.filter((id) => beyond === undefined || (backward ? id < beyond : id > beyond));
            const ids = backward ? left.slice(-size) : left.slice(0, size);
            const [first, last] = [ids.at(0), ids.at(-1)];
            expect({ ...page, before: page.before !== null, after: page.after !== null }).toEqual({
              ids,
              limit: size,
              total: model.length,
              before: first !== undefined && model.some((id) => id < first),
              after: last !== undefined && model.some((id) => id > last),
            });
            cursor = backward ? page.before : page.after;
            beyond = backward ? first : last;
            if (deleteWhileWalking && beyond !== undefined) await remove(model.indexOf(beyond));
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
