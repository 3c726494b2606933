import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { PageInfo } from "../../../shared/schema/documents.ts";
import { SwitchData } from "../../../shared/switches/schema.ts";
import { anyCharacter } from "../../support/fixtures/any-character.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { newSwitch, switchesPath } from "../../support/fixtures/switches.ts";
import { allPermissions } from "../../support/fixtures/tenants.ts";
import { call, invalidParametersOf, type ReceivedResponse } from "../../support/requests/client.ts";
import { byExtent } from "../../support/setup/extent.ts";

const List = z.object({
  type: z.literal("list"),
  data: z.object({ items: z.array(z.object({ type: z.string(), data: SwitchData })), page_info: PageInfo }),
});

const pageOf = ({ status, text, body }: ReceivedResponse) => {
  if (status !== 200) throw new Error(`list: ${status} ${text}`);
  const { items, page_info } = z.parse(List, body).data;
  return { items: items.map(({ data }) => data), ids: items.map(({ data }) => data.id), ...page_info };
};

/** Creates a chain of accounts, one below the other, with a key each. */
const accountChain = async (levels: number) => {
  const names = Array.from({ length: levels }, (_, level) => `level${level}`);
  const created = await apply({
    accounts: Object.fromEntries(
      names.map((name, level) => [name, { name, ...(level > 0 && { parent: `level${level - 1}` }) }]),
    ),
    users: { ops: { account: "level0", permissions: allPermissions } },
    keys: Object.fromEntries(names.map((name) => [name, { account: name, user: "ops" }])),
  });
  return names.map((name) => ({ id: created.accounts[name]?.id ?? "", key: created.keys[name]?.key ?? "" }));
};

const list = async (key: string, query = "") => pageOf(await call("GET", `${switchesPath}${query}`, { key }));
const under = (account: string) => `/api/v1/accounts/${account}/switches`;

describe("GET /switches", () => {
  it("lists the switches of the key's account and of every account below it, up to 8 levels", async () => {
    const accounts = await accountChain(8);
    const created: string[] = [];
    for (const { id } of [...accounts, ...accounts.toReversed()])
      created.push((await newSwitch(accounts[0]?.key ?? "", { name: `s${created.length}` }, under(id))).id);
    for (const [level, { key }] of accounts.entries()) {
      const visible = created.filter((_, index) => Math.min(index, 15 - index) >= level).sort();
      const page = await list(key);
      expect([page.ids, page.total, page.limit], `level ${level}`).toEqual([visible, visible.length, 50]);
      expect([page.after, page.before], `level ${level}`).toEqual([null, null]);
    }
  });

  it("returns each switch as show does", async () => {
    const [root] = await accountChain(1);
    const created = await newSwitch(root?.key ?? "", { name: "whole", sms_secret: "s" });
    expect((await list(root?.key ?? "")).items).toEqual([created]);
  });

  it("returns 422 for a cursor of another account's list, for first with last, and for a large page", async () => {
    const [root, below] = await accountChain(2);
    for (const name of ["a", "b"]) await newSwitch(root?.key ?? "", { name }, under(below?.id ?? ""));
    const { after } = await list(root?.key ?? "", "?first=1");
    const get = (query: string) => call("GET", `${switchesPath}${query}`, { key: below?.key });
    expect(invalidParametersOf(await get(`?after=${after}`))).toEqual(["query /after constraint.format"]);
    expect(invalidParametersOf(await get("?first=1&last=1"))).toEqual(["query /last constraint.format"]);
    expect(invalidParametersOf(await get("?first=101"))).toEqual(["query /first constraint.range"]);
  });

  it("equals the model page by page, after any creates, deletes and walks", async () => {
    const operation = fc.oneof(
      fc.record({ kind: fc.constant("create" as const), level: fc.nat(2) }),
      fc.record({ kind: fc.constant("delete" as const), at: fc.nat(30) }),
      fc.record({ kind: fc.constant("walk" as const), level: fc.nat(2), size: fc.integer({ min: 1, max: 5 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 25 }), async (operations) => {
        const accounts = await accountChain(3);
        const root = accounts[0]?.key ?? "";
        const model: { id: string; level: number }[] = [];
        for (const [step, operation] of operations.entries()) {
          if (operation.kind === "create") {
            const path = under(accounts[operation.level]?.id ?? "");
            model.push({ id: (await newSwitch(root, { name: `${step}` }, path)).id, level: operation.level });
          } else if (operation.kind === "delete") {
            const [gone] = model.splice(operation.at % (model.length || 1), 1);
            if (gone) expect((await call("DELETE", `${switchesPath}/${gone.id}`, { key: root })).status).toBe(200);
          } else {
            const { level, size } = operation;
            const expected = model.flatMap((one) => (one.level >= level ? [one.id] : [])).sort();
            const visited: string[] = [];
            for (let query = `?first=${size}`; query; ) {
              const page = await list(accounts[level]?.key ?? "", query);
              expect(page.total).toBe(expected.length);
              visited.push(...page.ids);
              query = page.after === null ? "" : `?first=${size}&after=${page.after}`;
            }
            expect(visited).toEqual(expected);
          }
        }
      }),
      { numRuns: byExtent({ sample: 2, most: 15, all: 150 }) },
    );
  });
});

describe("any JSON as a switch", () => {
  it("is accepted or returns 422", async () => {
    const [root] = await accountChain(1);
    const key = root?.key ?? "";
    const { id } = await newSwitch(key, { name: "target" });
    const names = Object.keys(SwitchData.shape);
    const value = fc.oneof(
      fc.jsonValue(),
      fc.string({ unit: anyCharacter }),
      fc.constantFrom("HTTP", "BASIC", "EMAIL", true, [], ["http://a.b"], "x".repeat(3000)),
    );
    const data = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...names, "__proto__", "x"), value));
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.jsonValue(),
          data.map((data) => ({ type: "switch", data })),
        ),
        async (json) => {
          for (const [method, path] of [
            ["POST", switchesPath],
            ["PATCH", `${switchesPath}/${id}`],
          ] as const) {
            const response = await call(method, path, { key, json });
            expect([200, 201, 422]).toContain(response.status);
            if (response.status === 422) expect(invalidParametersOf(response).length).toBeGreaterThan(0);
            else expect((await call("GET", `${switchesPath}/${id}`, { key })).status).toBe(200);
          }
        },
      ),
      { numRuns: byExtent({ sample: 10, most: 300, all: 3_000 }) },
    );
  });
});
