import { describe, expect, it } from "vitest";
import { pageOf } from "../../support/fixtures/attachments.ts";
import { newSwitch, switchesPath } from "../../support/fixtures/switches.ts";
import { customer } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";

const list = (key = "", query = "") => call("GET", `${switchesPath}${query}`, { key });
const under = (account: string) => `/api/v1/accounts/${account}/switches`;

describe("GET /switches", () => {
  it("and GET /accounts/{account_id}/switches list the switches of that account and of every account below it, up to 8 levels", async () => {
    const { accounts, keys } = await customer({ levels: 8 });
    const [key = ""] = keys;
    const created: { level: number; id: string }[] = [];
    for (const level of [0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1, 0]) {
      // The key may belong to an account between the root and the switch's account.
      const creator = keys[Math.floor(level / 2)] ?? "";
      const { id } = await newSwitch(creator, { name: `s${created.length}` }, under(accounts[level] ?? ""));
      created.push({ level, id });
    }
    const expectLists = async (when: string) => {
      for (const [level, own] of keys.entries()) {
        const visible = created.filter((one) => one.level >= level).map(({ id }) => id);
        const expected = { ids: visible.sort(), total: visible.length, limit: 50, after: null, before: null };
        expect(pageOf(await list(own)), `level ${level}, ${when}`).toEqual(expected);
        const ofAccount = await call("GET", under((accounts[level] ?? "").toLowerCase()), { key });
        expect(pageOf(ofAccount), `level ${level} by its id, ${when}`).toEqual(expected);
        const first = pageOf(await list(own, "?first=1"));
        expect([first.ids, first.total], `level ${level}, ${when}`).toEqual([visible.slice(0, 1), visible.length]);
      }
    };
    await expectLists("with two switches on each level");
    for (const { id } of created.splice(8, 4))
      expect((await call("DELETE", `${switchesPath}/${id}`, { key })).status).toBe(200);
    await expectLists("with one on the lowest four");
  });

  it("returns each switch as show does", async () => {
    const { key } = await customer();
    const created = await newSwitch(key, { name: "whole", sms_secret: "s" });
    expect((await list(key)).body).toMatchObject({ data: { items: [{ type: "switch", data: created }] } });
  });

  it("ignores unknown parameters and headers with the names of a prototype's properties", async () => {
    const { key } = await customer();
    for (const name of ["constructor", "__proto__", "toString"]) {
      const response = await call("GET", `${switchesPath}?${name}=1`, { key, headers: { [name]: "1" } });
      expect(response.status, name).toBe(200);
    }
  });
});
