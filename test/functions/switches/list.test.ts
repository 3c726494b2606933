import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { PageInfo } from "../../../shared/schema/documents.ts";
import { SwitchData } from "../../../shared/switches/schema.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { newSwitch, switchesPath } from "../../support/fixtures/switches.ts";
import { allPermissions } from "../../support/fixtures/tenants.ts";
import { call, invalidParametersOf, type ReceivedResponse } from "../../support/requests/client.ts";

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
    const key = accounts[0]?.key ?? "";
    const created: { level: number; id: string }[] = [];
    for (const level of [0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1, 0]) {
      const { id } = await newSwitch(key, { name: `s${created.length}` }, under(accounts[level]?.id ?? ""));
      created.push({ level, id });
    }
    const expectLists = async (when: string) => {
      for (const [level, account] of accounts.entries()) {
        const visible = created.filter((one) => one.level >= level).map(({ id }) => id);
        const { items, ...page } = await list(account.key);
        const expected = { ids: visible.sort(), total: visible.length, limit: 50, after: null, before: null };
        expect(page, `level ${level}, ${when}`).toEqual(expected);
        const first = await list(account.key, "?first=1");
        expect([first.ids, first.total], `level ${level}, ${when}`).toEqual([visible.slice(0, 1), visible.length]);
      }
    };
    await expectLists("with two switches on each level");
    for (const { id } of created.splice(8, 4))
      expect((await call("DELETE", `${switchesPath}/${id}`, { key })).status).toBe(200);
    await expectLists("with one on the lowest four");
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
    for (const [query, parameter] of [
      [`?after=${after}`, "after constraint.format"],
      ["?first=1&last=1", "last constraint.format"],
      ["?first=101", "first constraint.range"],
    ]) {
      const response = await call("GET", `${switchesPath}${query}`, { key: below?.key });
      expect(invalidParametersOf(response), query).toEqual([`query /${parameter}`]);
    }
  });
});
