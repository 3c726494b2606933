import { describe, expect, it } from "vitest";
import { switchProblems } from "../../../shared/switches/switch-schema.ts";
import { atOnce, beforeTableCall, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { newSwitch, patch, post, switchesPath, switchOf } from "../../support/fixtures/switches.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { otherTimes } from "../../support/fixtures/times.ts";
import {
  call,
  codeOf,
  errorBody,
  invalidParametersOf,
  notFoundBody,
  takenBody,
} from "../../support/requests/client.ts";

const t = await tenants();
const key = t.key("acme");

const show = (id: string) => call("GET", `${switchesPath}/${id}`, { key });
const remove = (id: string, headers = {}) => call("DELETE", `${switchesPath}/${id}`, { key, headers });

describe("GET /switches/{id}", () => {
  it("returns the switch for its id in either case, with the ETag of its version", async () => {
    const created = await newSwitch(key, { name: "Shown" });
    for (const id of [created.id, created.id.toLowerCase()]) {
      const response = await show(id);
      expect([response.status, response.body], id).toEqual([200, { type: "switch", data: created }]);
      expect(response.headers.get("etag"), id).toBe('"1"');
    }
  });
});

describe("PATCH /switches/{id}", () => {
  it("changes what is sent, keeps the rest and sets updated_at", async () => {
    const created = await newSwitch(key, { name: "Before", sms_secret: "kept" });
    const response = await patch(key, created.id, { name: " After ", mms_identity: "new" });
    const { updated_at } = switchOf(response);
    expect([response.status, response.body]).toEqual([
      200,
      { type: "switch", data: { ...created, name: "After", mms_identity: "new", updated_at } },
    ]);
    expect(updated_at > created.updated_at).toBe(true);
    expect(response.headers.get("etag")).toBe('"2"');
    expect((await show(created.id)).body).toEqual(response.body);
  });

  it("leaves updated_at as it is if nothing changes, even if the whole document is echoed", async () => {
    const created = await newSwitch(key, { name: "Echo", sms_endpoints: ["a"] });
    const echoes = [{}, { name: "Echo" }, created, { ...created, id: created.id.toLowerCase() }];
    for (const data of [...echoes, ...otherTimes(created).map((times) => ({ ...created, ...times }))]) {
      const response = await patch(key, created.id, data);
      expect([response.status, response.body], JSON.stringify(data)).toEqual([200, { type: "switch", data: created }]);
      expect(response.headers.get("etag")).toBe('"1"');
    }
  });

  it("takes the whole document with a change, again and again, in a typed client's notation of times", async () => {
    const created = await newSwitch(key, { name: "Typed" });
    for (const [n, times] of otherTimes(created).entries()) {
      const changed = { ...created, ...times, sms_identity: `${n}` };
      const first = await patch(key, created.id, changed);
      expect([first.status, switchOf(first).sms_identity], JSON.stringify(times)).toEqual([200, `${n}`]);
      const again = await patch(key, created.id, changed);
      expect([again.status, again.body], "after a lost answer").toEqual([200, first.body]);
      expect(switchOf(again).inserted_at).toBe(created.inserted_at);
    }
  });

  it("sets nullable properties to null, and refuses null for the others", async () => {
    const created = await newSwitch(key, { name: "Nulls", sms_identity: "i", sms_secret: "s" });
    expect(switchOf(await patch(key, created.id, { sms_identity: null, sms_secret: null }))).toMatchObject({
      sms_identity: null,
      sms_secret: null,
    });
    expect(
      invalidParametersOf(await patch(key, created.id, { name: null, sms_endpoints: null, sms_enabled: null })),
    ).toEqual([
      "body /data/name constraint.required",
      "body /data/sms_enabled constraint.type",
      "body /data/sms_endpoints constraint.type",
    ]);
  });

  it("names immutable properties together with all other errors, like a missing type", async () => {
    const created = await newSwitch(key, { name: "Fixed" });
    const data = { id: "x", inserted_at: "y", updated_at: null, sms_protocol: "FAX" };
    const response = await call("PATCH", `${switchesPath}/${created.id}`, { key, json: { data } });
    expect([response.status, invalidParametersOf(response)]).toEqual([
      422,
      [
        "body /type constraint.required",
        "body /data/sms_protocol constraint.enum",
        "body /data/id constraint.immutable",
      ],
    ]);
  });

  it("validates the merged result", async () => {
    const { id } = await newSwitch(key, {
      name: "Merged",
      sms_protocol: "HTTP",
      sms_endpoints: ["https://example.com/"],
      sms_auth_method: "BEARER",
    });
    expect(invalidParametersOf(await patch(key, id, { sms_enabled: true }))).toEqual([
      "body /data/sms_secret constraint.required",
    ]);
    expect((await patch(key, id, { sms_enabled: true, sms_secret: "s" })).status).toBe(200);
    expect(invalidParametersOf(await patch(key, id, { sms_endpoints: [] }))).toEqual([
      "body /data/sms_endpoints constraint.required",
    ]);
    expect(invalidParametersOf(await patch(key, id, { sms_protocol: "EMAIL" }))).toEqual([
      "body /data/sms_endpoints/0 constraint.format",
    ]);
    expect((await patch(key, id, { sms_protocol: "EMAIL", sms_endpoints: ["a@example.com"] })).status).toBe(200);
    expect((await patch(key, id, { sms_enabled: false, sms_endpoints: [] })).status).toBe(200);
  });

  it("judges credentials when the channel's method, identity or secret is sent", async () => {
    const { id } = await newSwitch(key, { name: "Credentials", sms_secret: "日本", sms_identity: "a:b" });
    const refused = (part: string) => [`body /data/sms_${part} constraint.format`];
    expect(invalidParametersOf(await patch(key, id, { sms_auth_method: "BEARER" }))).toEqual(refused("secret"));
    expect(invalidParametersOf(await patch(key, id, { sms_auth_method: "BASIC" }))).toEqual(refused("identity"));
    expect((await patch(key, id, { sms_auth_method: "BEARER", sms_secret: "t" })).status).toBe(200);
    expect(invalidParametersOf(await patch(key, id, { sms_secret: " " }))).toEqual(refused("secret"));
    const stored = { name: "n", sms_auth_method: "BEARER", sms_secret: "日本" };
    for (const other of [{ name: "Renamed" }, { mms_secret: "s" }, { sms_enabled: true }])
      expect(switchProblems(other, stored), JSON.stringify(other)).toEqual([]);
    for (const part of [{ sms_identity: null }, { sms_auth_method: "BEARER" }, { sms_secret: "日本" }])
      expect(switchProblems(part, stored), JSON.stringify(part)).toHaveLength(1);
  });

  it("refuses one of two concurrent changes that are invalid together", async () => {
    const { id } = await newSwitch(key, { name: "Race", sms_protocol: "HTTP", sms_endpoints: ["http://a.b"] });
    const responses = await atOnce(2, (n) => patch(key, id, n === 0 ? { sms_enabled: true } : { sms_endpoints: [] }));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 422]);
    const { sms_enabled, sms_endpoints } = switchOf(await show(id));
    expect(sms_enabled && sms_endpoints.length === 0).toBe(false);
  });

  it("takes the new name and frees the old one at once", async () => {
    const created = await newSwitch(key, { name: "Old name" });
    const other = await newSwitch(key, { name: "Other name" });
    const { status, body } = await patch(key, created.id, { name: "Other name" });
    expect([status, body]).toEqual([422, takenBody("/data/name", { id: other.id, type: "switch" })]);
    expect((await patch(key, created.id, { name: "New name" })).status).toBe(200);
    expect((await patch(key, other.id, { name: "Old name" })).status).toBe(200);
    expect(invalidParametersOf(await post(key, { name: "New name" }))).toEqual(["body /data/name constraint.unique"]);
    expect((await post(key, { name: "Other name" })).status).toBe(201);
  });
});

describe("DELETE /switches/{id}", () => {
  it("returns the switch as it was, and 404 from then on, and frees its name", async () => {
    const created = await newSwitch(key, { name: "Gone", mms_secret: "s" });
    const { status, headers, body } = await remove(created.id);
    expect([status, headers.get("etag"), body]).toEqual([200, '"1"', { type: "switch", data: created }]);
    expect((await remove(created.id)).body).toEqual(notFoundBody("switch", created.id));
    expect((await show(created.id)).status).toBe(404);
    expect((await post(key, { name: "Gone" })).status).toBe(201);
  });
});

describe("If-Match", () => {
  it("lets PATCH and DELETE succeed only on the version that it names", async () => {
    const { id } = await newSwitch(key, { name: "Matched" });
    const changed = await patch(key, id, { sms_identity: "1" }, { "if-match": '"1"' });
    expect([changed.status, changed.headers.get("etag")]).toEqual([200, '"2"']);
    const stale = await patch(key, id, { sms_identity: "2" }, { "if-match": '"1"' });
    expect([stale.status, codeOf(stale), stale.headers.get("etag")]).toEqual([412, "precondition_failed", '"2"']);
    expect((await remove(id, { "if-match": '"1"' })).status).toBe(412);
    expect((await remove(id, { "if-match": '"2"' })).status).toBe(200);
  });

  it("and If-None-Match apply to every request for one switch, and to no other", async () => {
    const { id } = await newSwitch(key, { name: "Conditions" });
    const get = (headers: Record<string, string>, path = `/${id}`) =>
      call("GET", switchesPath + path, { key, headers });
    const stale = await get({ "if-match": '"7"' });
    expect([stale.status, codeOf(stale), stale.headers.get("etag")]).toEqual([412, "precondition_failed", '"1"']);
    expect((await get({ "if-match": '"1"' })).status).toBe(200);
    expect((await get({ "if-match": '"1"', "if-none-match": '"1"' })).status).toBe(304);
    expect((await get({ "if-match": '"7"', "if-none-match": "*" }, "")).status).toBe(200);
    const unchanged = await patch(key, id, { sms_identity: "1" }, { "if-none-match": 'W/"1"' });
    const detail = "The resource still has the version in If-None-Match.";
    const body = errorBody({ code: "precondition_failed", title: "Precondition Failed", detail });
    expect([unchanged.status, unchanged.body, unchanged.headers.get("etag")]).toEqual([412, body, '"1"']);
    expect((await remove(id, { "if-none-match": "*" })).status).toBe(412);
    expect((await patch(key, id, { name: "" }, { "if-none-match": "*" })).status, "the body comes first").toBe(422);
    expect((await get({ "if-match": '"7"' }, "/01ARZ3NDEKTSV4RRFFQ69G5FAV")).status).toBe(404);
    expect((await patch(key, id, { sms_identity: "1" }, { "if-none-match": '"7"' })).status).toBe(200);
    expect((await remove(id, { "if-none-match": '"1"', "if-match": '"2"' })).status).toBe(200);
  });
});

describe("concurrent requests", () => {
  it("create one switch from 12 POSTs with the same name", async () => {
    const responses = await atOnce(12, () => post(key, { name: "Contested" }));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(422)]);
  });

  it("rename a switch once with 24 PATCHes of the same name, all of which succeed", async () => {
    const { id } = await newSwitch(key, { name: "Before the race" });
    const responses = await atOnce(24, () => patch(key, id, { name: "After the race" }));
    expect(responses.map(({ status }) => status)).toEqual(Array(24).fill(200));
    expect((await show(id)).headers.get("etag")).toBe('"2"');
  });

  it("delete a switch under the name that it got meanwhile, which is free again", async () => {
    const { id } = await newSwitch(key, { name: "Before the delete" });
    const isWrite = ({ operation }: TableCall) => operation === "TransactWriteItems";
    beforeTableCall(isWrite, () => patch(key, id, { name: "After the rename" }));
    const response = await remove(id);
    expect([response.status, response.headers.get("etag")]).toEqual([200, '"2"']);
    expect(switchOf(response).name).toBe("After the rename");
    await newSwitch(key, { name: "After the rename" });
  });

  it("delete each of 12 switches once with 24 DELETEs, and the total stays exact", async () => {
    const before = await call("GET", switchesPath, { key: t.key("other") });
    const created = await Promise.all(
      Array.from({ length: 12 }, (_, n) => newSwitch(t.key("other"), { name: `Doomed ${n}` })),
    );
    const responses = await atOnce(24, (n) =>
      call("DELETE", `${switchesPath}/${created[n % 12]?.id}`, { key: t.key("other") }),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(12).fill(200), ...Array(12).fill(404)]);
    expect((await call("GET", switchesPath, { key: t.key("other") })).body).toEqual(before.body);
  });
});
