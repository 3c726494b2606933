import { beforeAll, describe, expect, it } from "vitest";
import { pageOf, upload } from "../../support/fixtures/attachments.ts";
import { sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { call, invalidParametersOf } from "../../support/requests/client.ts";

const t = await tenants();

describe.each(sampledParentTypes("request"))("the list of a %s by reference_id", (kind) => {
  const path = t.attachments(kind, "acme");
  const key = t.key("acme");
  const uuid = "7B3E4C1A-5D2F-4E8A-9C61-0F2D8A4B6E13";
  const unused = "00000000-0000-4000-8000-000000000000";

  beforeAll(async () => {
    for (let n = 0; n < 3; n += 1) await upload(path, key);
  });

  const list = (query: string, from = path) => call("GET", `${from}?${query}`, { key });

  it("has the one attachment with that reference_id, in any case, and is empty without one", async () => {
    const { id } = await upload(path, key, { "data[reference_id]": uuid });
    const fetched = await call("GET", `${path}/${id}`, { key });
    for (const sent of [uuid, uuid.toLowerCase()])
      expect((await list(`reference_id=${sent}`)).body).toEqual({
        type: "list",
        data: { items: [fetched.body], page_info: { after: null, before: null, limit: 50, total: 1 } },
      });
    expect(pageOf(await list(`reference_id=${uuid}&last=1`))).toMatchObject({ ids: [id], limit: 1, total: 1 });
    const none = { ids: [], after: null, before: null, limit: 50, total: 0 };
    expect(pageOf(await list(`reference_id=${unused}`))).toEqual(none);
    expect((await list(`reference_id=${unused}&after=x`)).text).toContain("can't be combined with reference_id");
    expect(pageOf(await list(`reference_id=${uuid}`, t.attachments(kind, "sibling")))).toEqual(none);
    await call("DELETE", `${path}/${id}`, { key });
    expect(pageOf(await list(`reference_id=${uuid}`))).toEqual(none);
    const { id: next } = await upload(path, key, { "data[reference_id]": uuid });
    expect(pageOf(await list(`reference_id=${uuid}`))).toMatchObject({ ids: [next], total: 1 });
  });

  it.each([
    ["reference_id=", ["query /reference_id constraint.format"]],
    ["reference_id=loa", ["query /reference_id constraint.format"]],
    ["reference_id=1&first=0", ["query /first constraint.range", "query /reference_id constraint.format"]],
    [`reference_id=${unused}&after=x`, ["query /after constraint.format"]],
    [`reference_id=${unused}&before=x`, ["query /before constraint.format"]],
    [`reference_id=${unused}&first=1&last=1`, ["query /last constraint.format"]],
  ])("returns 422: %s", async (query, parameters) => {
    const response = await list(query);
    expect([response.status, invalidParametersOf(response)]).toEqual([422, parameters]);
  });
});
