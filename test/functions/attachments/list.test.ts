import { beforeAll, describe, expect, it } from "vitest";
import { pageOf, upload } from "../../support/fixtures/attachments.ts";
import { sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { call, invalidBody, invalidParametersOf } from "../../support/requests/client.ts";

const kinds = await Promise.all(sampledParentTypes("order").map(async (kind) => ({ kind, t: await tenants() })));

const unused = "00000000-0000-4000-8000-000000000000";

describe.each(kinds)("the attachments of one $kind", ({ kind, t }) => {
  const path = t.attachments(kind, "acme");
  const key = t.key("acme");
  let ids: string[];

  beforeAll(async () => {
    const uploads = await Promise.all(Array.from({ length: 7 }, () => upload(path, key)));
    ids = uploads.map(({ id }) => id).sort();
  });

  const list = (query = "", from = path) => call("GET", `${from}${query}`, { key });
  const cursor = (text: string | null) => encodeURIComponent(text ?? "");

  describe("a list", () => {
    it("returns whole documents in the order of their ids, with page_info", async () => {
      const response = await list("?first=1");
      expect(response.status).toBe(200);
      const fetched = await call("GET", `${path}/${ids[0]}`, { key });
      expect(response.body).toEqual({
        type: "list",
        data: { items: [fetched.body], page_info: { after: expect.any(String), before: null, limit: 1, total: 7 } },
      });
    });

    it("has pages of 50 by default, in both directions, and no cursors when everything fits on one page", async () => {
      expect(pageOf(await list())).toEqual({ ids, after: null, before: null, limit: 50, total: 7 });
      const { after } = pageOf(await list("?first=2"));
      expect(pageOf(await list(`?before=${cursor(after)}`))).toMatchObject({ ids: ids.slice(0, 1), limit: 50 });
    });

    it("contains only the attachments of its own parent, not those of the request's order", async () => {
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

  describe("a list by reference_id", () => {
    const uuid = "7B3E4C1A-5D2F-4E8A-9C61-0F2D8A4B6E13";

    it("has the one attachment with that reference_id, in any case, and is empty without one", async () => {
      const { id } = await upload(path, key, { "data[reference_id]": uuid });
      const fetched = await call("GET", `${path}/${id}`, { key });
      for (const sent of [uuid, uuid.toLowerCase()])
        expect((await list(`?reference_id=${sent}`)).body).toEqual({
          type: "list",
          data: { items: [fetched.body], page_info: { after: null, before: null, limit: 50, total: 1 } },
        });
      expect(pageOf(await list(`?reference_id=${uuid}&last=1`))).toMatchObject({ ids: [id], limit: 1, total: 1 });
      const none = { ids: [], after: null, before: null, limit: 50, total: 0 };
      expect(pageOf(await list(`?reference_id=${unused}`))).toEqual(none);
      expect((await list(`?reference_id=${unused}&after=x`)).text).toContain("can't be combined with reference_id");
      expect(pageOf(await list(`?reference_id=${uuid}`, t.attachments(kind, "sibling")))).toEqual(none);
      await call("DELETE", `${path}/${id}`, { key });
      expect(pageOf(await list(`?reference_id=${uuid}`))).toEqual(none);
      const { id: next } = await upload(path, key, { "data[reference_id]": uuid });
      expect(pageOf(await list(`?reference_id=${uuid}`))).toMatchObject({ ids: [next], total: 1 });
    });
  });

  describe("an invalid query", () => {
    it.each([
      ["?first=0", ["query /first constraint.range"]],
      ["?first=", ["query /first constraint.format"]],
      ["?first=x&last=y", ["query /first constraint.format", "query /last constraint.format"]],
      ["?first=1&before=x", ["query /before constraint.format"]],
      ["?after=x", ["query /after constraint.format"]],
      [
        "?include=file&first=1&first=1&include=forwarding",
        ["query /first constraint.type", "query /include constraint.type"],
      ],
      ["?reference_id=", ["query /reference_id constraint.format"]],
      ["?reference_id=loa", ["query /reference_id constraint.format"]],
      ["?reference_id=1&first=0", ["query /first constraint.range", "query /reference_id constraint.format"]],
      [`?reference_id=${unused}&after=x`, ["query /after constraint.format"]],
      [`?reference_id=${unused}&before=x`, ["query /before constraint.format"]],
      [`?reference_id=${unused}&first=1&last=1`, ["query /last constraint.format"]],
    ])("returns 422: %s", async (query, parameters) => {
      const response = await list(query);
      expect([response.status, invalidParametersOf(response)]).toEqual([422, parameters]);
    });

    it("with a parameter that is given twice returns 422, which names it", async () => {
      const problem = { sub_code: "constraint.type", detail: "must be given only once" };
      expect((await list("?first=1&first=1")).body).toEqual(invalidBody("query", "/first", problem));
    });

    it("with a cursor of another list returns 422", async () => {
      const other = t.attachments(kind, "sibling");
      await upload(other, key);
      await upload(other, key);
      const { after } = pageOf(await list("?first=1", other));
      expect(after).not.toBeNull();
      for (const name of ["after", "before"])
        expect(invalidParametersOf(await list(`?${name}=${cursor(after)}`))).toEqual([
          `query /${name} constraint.format`,
        ]);
    });
  });
});
