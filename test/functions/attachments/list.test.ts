import { beforeAll, describe, expect, it } from "vitest";
import { pageOf, upload } from "../../support/fixtures/attachments.ts";
import { kinds, tenants } from "../../support/fixtures/tenants.ts";
import { call, faultsOf } from "../../support/requests/client.ts";

describe.each(kinds)("attachments of a %s", (kind) => {
  let t: Awaited<ReturnType<typeof tenants>>;
  let path: string;
  let key: string;
  let ids: string[];

  beforeAll(async () => {
    t = await tenants();
    key = t.key("acme");
    path = t.attachments(kind, "acme");
    const uploads = await Promise.all(Array.from({ length: 7 }, () => upload(path, key)));
    ids = uploads.map(({ id }) => id).sort();
  });

  const list = (query = "", of = path) => call("GET", `${of}${query}`, { key });
  const cursor = (text: string | null) => encodeURIComponent(text ?? "");

  describe("a list", () => {
    it("holds whole documents in the order of their ids, with page_info", async () => {
      const answer = await list("?first=1");
      expect(answer.status).toBe(200);
      const shown = await call("GET", `${path}/${ids[0]}`, { key });
      expect(answer.body).toEqual({
        type: "list",
        data: { items: [shown.body], page_info: { after: expect.any(String), before: null, limit: 1, total: 7 } },
      });
    });

    it("has pages of 50 unless told otherwise, and nothing before or after when it fits", async () => {
      expect(pageOf(await list())).toEqual({ ids, after: null, before: null, limit: 50, total: 7 });
    });

    it("is empty for a parent without attachments", async () => {
      const empty = await list("", t.attachments(kind, "sibling"));
      expect(pageOf(empty)).toEqual({ ids: [], after: null, before: null, limit: 50, total: 0 });
    });

    it("visits every item once when walked forward, whatever the page size", async () => {
      for (const size of [1, 2, 3, 7, 100]) {
        const seen: string[] = [];
        for (let after: string | null = ""; after !== null; ) {
          const page = pageOf(await list(`?first=${size}${after && `&after=${cursor(after)}`}`));
          expect(page.before === null).toBe(seen.length === 0);
          seen.push(...page.ids);
          after = page.after;
        }
        expect(seen, `pages of ${size}`).toEqual(ids);
      }
    });

    it("visits every item once when walked backward, its pages still ascending", async () => {
      for (const size of [1, 2, 3, 7, 100]) {
        let seen: string[] = [];
        for (let before: string | null = ""; before !== null; ) {
          const page = pageOf(await list(`?last=${size}${before && `&before=${cursor(before)}`}`));
          expect(page.after === null).toBe(seen.length === 0);
          expect(page.ids).toEqual([...page.ids].sort());
          seen = [...page.ids, ...seen];
          before = page.before;
        }
        expect(seen, `pages of ${size}`).toEqual(ids);
      }
    });

    it("takes after alone for the default size forward, before alone for it backward", async () => {
      const { after } = pageOf(await list("?first=2"));
      expect(pageOf(await list(`?after=${cursor(after)}`))).toMatchObject({ ids: ids.slice(2), limit: 50 });
      const { before } = pageOf(await list("?last=2"));
      expect(pageOf(await list(`?before=${cursor(before)}`))).toMatchObject({ ids: ids.slice(0, 5), limit: 50 });
    });

    it("keeps a cursor valid when the item that it names is deleted", async () => {
      const mine = t.attachments(kind, "done");
      const made = [];
      for (let n = 0; n < 3; n += 1) made.push((await upload(mine, key)).id);
      made.sort();
      const { after } = pageOf(await list("?first=1", mine));
      await call("DELETE", `${mine}/${made[0]}`, { key });
      const next = pageOf(await list(`?first=1&after=${cursor(after)}`, mine));
      expect(next).toMatchObject({ ids: [made[1]], before: null, total: 2 });
      const last = pageOf(await list(`?after=${cursor(next.after)}`, mine));
      expect(last).toMatchObject({ ids: [made[2]], after: null, before: expect.any(String) });
    });

    it("shows at once what a 201, a 200 and a delete have confirmed", async () => {
      const mine = t.attachments(kind, "east");
      for (let n = 1; n <= 3; n += 1) {
        const { id } = await upload(mine, key);
        const page = pageOf(await list("", mine));
        expect([page.total, page.ids.includes(id)]).toEqual([n, true]);
        await call("PATCH", `${mine}/${id}`, { key, json: { type: `${kind}_attachment`, data: { name: `n${n}` } } });
        const shown = (await list("?last=1", mine)).body;
        expect(shown).toMatchObject({ data: { items: [{ data: { name: `n${n}` } }] } });
      }
      await call("DELETE", `${mine}/${pageOf(await list("", mine)).ids[0]}`, { key });
      expect(pageOf(await list("", mine))).toMatchObject({ total: 2 });
    });

    it("does not hold the attachments of another parent, nor a request's list its order's", async () => {
      const other = await upload(t.attachments(kind, "sibling"), key);
      const orders = await upload(t.attachments("order", "acme"), key);
      const requests = await upload(t.attachments("request", "acme"), key);
      const listed = pageOf(await list()).ids;
      expect(listed).not.toContain(other.id);
      expect([listed.includes(orders.id), listed.includes(requests.id)]).toEqual([
        kind === "order",
        kind === "request",
      ]);
    });
  });

  describe("a refused query", () => {
    it.each([
      ["?first=0", ["query /first constraint.range"]],
      ["?first=101", ["query /first constraint.range"]],
      ["?first=-1", ["query /first constraint.range"]],
      ["?last=1000", ["query /last constraint.range"]],
      ["?first=", ["query /first constraint.format"]],
      ["?first=ten", ["query /first constraint.format"]],
      ["?first=1.5", ["query /first constraint.format"]],
      ["?first=x&last=y", ["query /first constraint.format", "query /last constraint.format"]],
      ["?first=1&last=1", ["query /last constraint.format"]],
      ["?first=1&before=x", ["query /before constraint.format"]],
      ["?after=x&last=1", ["query /last constraint.format"]],
      ["?after=x", ["query /after constraint.format"]],
      ["?before=", ["query /before constraint.format"]],
    ])("is %s", async (query, faults) => {
      const answer = await list(query);
      expect(answer.status).toBe(422);
      expect(faultsOf(answer)).toEqual(faults);
    });

    it("is one with the cursor of another list", async () => {
      const other = t.attachments(kind, "sibling");
      await upload(other, key);
      await upload(other, key);
      const { after } = pageOf(await list("?first=1", other));
      expect(after).not.toBeNull();
      for (const name of ["after", "before"])
        expect(faultsOf(await list(`?${name}=${cursor(after)}`))).toEqual([`query /${name} constraint.format`]);
    });
  });
});
