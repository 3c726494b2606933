import { beforeAll, describe, expect, it } from "vitest";
import { makeSwitch, patch, post, switchesPath, switchOf } from "../../support/fixtures/switches.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { call, codeOf, faultsOf, notFoundBody } from "../../support/requests/client.ts";

let t: Awaited<ReturnType<typeof tenants>>;
let key: string;
beforeAll(async () => {
  t = await tenants();
  key = t.key("acme");
});

const show = (id: string) => call("GET", `${switchesPath}/${id}`, { key });
const remove = (id: string, headers = {}) => call("DELETE", `${switchesPath}/${id}`, { key, headers });

describe("GET /switches/{id}", () => {
  it("answers the switch, its id in either case, with the ETag of its version", async () => {
    const made = await makeSwitch(key, { name: "Shown" });
    for (const id of [made.id, made.id.toLowerCase()]) {
      const answer = await show(id);
      expect([answer.status, answer.body], id).toEqual([200, { type: "switch", data: made }]);
      expect(answer.headers.get("etag"), id).toBe('"1"');
    }
  });

  it("answers 404 for another tenant's exactly as for none", async () => {
    const { id } = await makeSwitch(t.key("other"), { name: "Foreign" });
    for (const method of ["GET", "DELETE"]) {
      const answer = await call(method, `${switchesPath}/${id}`, { key });
      expect([answer.status, answer.body], method).toEqual([404, notFoundBody("switch", id)]);
    }
    const answer = await patch(key, id, { name: "Mine" });
    expect([answer.status, answer.body]).toEqual([404, notFoundBody("switch", id)]);
  });
});

describe("PATCH /switches/{id}", () => {
  it("changes what is sent, keeps the rest, and moves updated_at", async () => {
    const made = await makeSwitch(key, { name: "Before", sms_secret: "kept" });
    const answer = await patch(key, made.id, { name: " After ", mms_identity: "new" });
    const { updated_at } = switchOf(answer);
    expect([answer.status, answer.body]).toEqual([
      200,
      { type: "switch", data: { ...made, name: "After", mms_identity: "new", updated_at } },
    ]);
    expect(updated_at > made.updated_at).toBe(true);
    expect(answer.headers.get("etag")).toBe('"2"');
    expect((await show(made.id)).body).toEqual(answer.body);
  });

  it("moves nothing where it changes nothing, the whole document echoed included", async () => {
    const made = await makeSwitch(key, { name: "Echo", sms_endpoints: ["a"] });
    for (const data of [{}, { name: "Echo" }, made, { ...made, id: made.id.toLowerCase() }]) {
      const answer = await patch(key, made.id, data);
      expect([answer.status, answer.body], JSON.stringify(data)).toEqual([200, { type: "switch", data: made }]);
      expect(answer.headers.get("etag")).toBe('"1"');
    }
  });

  it("clears what can be null, and refuses null for what can't", async () => {
    const made = await makeSwitch(key, { name: "Nulls", sms_identity: "i", sms_secret: "s" });
    expect(switchOf(await patch(key, made.id, { sms_identity: null, sms_secret: null }))).toMatchObject({
      sms_identity: null,
      sms_secret: null,
    });
    expect(faultsOf(await patch(key, made.id, { name: null, sms_endpoints: null, sms_enabled: null }))).toEqual([
      "body /data/name constraint.required",
      "body /data/sms_enabled constraint.type",
      "body /data/sms_endpoints constraint.type",
    ]);
  });

  it("refuses to change what can't be changed, beside all other faults", async () => {
    const made = await makeSwitch(key, { name: "Fixed" });
    const answer = await patch(key, made.id, { id: "x", inserted_at: "y", updated_at: null, sms_protocol: "FAX" });
    expect([answer.status, faultsOf(answer)]).toEqual([
      422,
      [
        "body /data/sms_protocol constraint.enum",
        "body /data/id constraint.immutable",
        "body /data/inserted_at constraint.immutable",
        "body /data/updated_at constraint.immutable",
      ],
    ]);
  });

  it("requires the type", async () => {
    const { id } = await makeSwitch(key, { name: "Typed" });
    const answer = await call("PATCH", `${switchesPath}/${id}`, { key, json: { data: { name: "x" } } });
    expect([answer.status, faultsOf(answer)]).toEqual([422, ["body /type constraint.required"]]);
  });

  it("judges the rules on the merged result", async () => {
    const { id } = await makeSwitch(key, {
      name: "Merged",
      sms_protocol: "HTTP",
      sms_endpoints: ["https://example.com/"],
      sms_auth_method: "BEARER",
    });
    expect(faultsOf(await patch(key, id, { sms_enabled: true }))).toEqual([
      "body /data/sms_secret constraint.required",
    ]);
    expect((await patch(key, id, { sms_enabled: true, sms_secret: "s" })).status).toBe(200);
    expect(faultsOf(await patch(key, id, { sms_endpoints: [] }))).toEqual([
      "body /data/sms_endpoints constraint.required",
    ]);
    expect(faultsOf(await patch(key, id, { sms_protocol: "EMAIL" }))).toEqual([
      "body /data/sms_endpoints/0 constraint.format",
    ]);
    expect((await patch(key, id, { sms_protocol: "EMAIL", sms_endpoints: ["a@example.com"] })).status).toBe(200);
    expect((await patch(key, id, { sms_enabled: false, sms_endpoints: [] })).status).toBe(200);
  });

  it("keeps the rules when two changes that break them together come at once", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await makeSwitch(key, {
        name: `Race ${round}`,
        sms_protocol: "HTTP",
        sms_endpoints: ["http://a.b"],
      });
      await Promise.all([patch(key, id, { sms_enabled: true }), patch(key, id, { sms_endpoints: [] })]);
      const { sms_enabled, sms_endpoints } = switchOf(await show(id));
      expect(sms_enabled && sms_endpoints.length === 0).toBe(false);
    }
  });

  it("renames: the new name is taken, the former one free, at once", async () => {
    const made = await makeSwitch(key, { name: "Old name" });
    const other = await makeSwitch(key, { name: "Other name" });
    expect(faultsOf(await patch(key, made.id, { name: "Other name" }))).toEqual(["body /data/name constraint.unique"]);
    expect((await patch(key, made.id, { name: "New name" })).status).toBe(200);
    expect((await patch(key, other.id, { name: "Old name" })).status).toBe(200);
    expect(faultsOf(await post(key, { name: "New name" }))).toEqual(["body /data/name constraint.unique"]);
    expect((await post(key, { name: "Other name" })).status).toBe(201);
  });
});

describe("DELETE /switches/{id}", () => {
  it("answers the switch as it was, then 404; its name is free at once", async () => {
    const made = await makeSwitch(key, { name: "Gone", mms_secret: "s" });
    const answer = await remove(made.id);
    expect([answer.status, answer.body]).toEqual([200, { type: "switch", data: made }]);
    expect((await remove(made.id)).body).toEqual(notFoundBody("switch", made.id));
    expect((await show(made.id)).status).toBe(404);
    expect((await post(key, { name: "Gone" })).status).toBe(201);
  });
});

describe("If-Match", () => {
  it("lets PATCH and DELETE pass only for the version that was seen", async () => {
    const { id } = await makeSwitch(key, { name: "Matched" });
    const changed = await patch(key, id, { sms_identity: "1" }, { "if-match": '"1"' });
    expect([changed.status, changed.headers.get("etag")]).toEqual([200, '"2"']);
    const stale = await patch(key, id, { sms_identity: "2" }, { "if-match": '"1"' });
    expect([stale.status, codeOf(stale)]).toEqual([412, "precondition_failed"]);
    expect((await remove(id, { "if-match": '"1"' })).status).toBe(412);
    expect((await remove(id, { "if-match": '"2"' })).status).toBe(200);
  });

  it("lets one of many changes at once pass", async () => {
    const { id } = await makeSwitch(key, { name: "Contended" });
    const tries = Array.from({ length: 10 }, (_, n) => patch(key, id, { sms_identity: `${n}` }, { "if-match": '"1"' }));
    const statuses = (await Promise.all(tries)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array(9).fill(412)]);
  });
});

describe("races", () => {
  const statuses = async (calls: readonly Promise<{ status: number }>[]) =>
    (await Promise.all(calls)).map(({ status }) => status).sort();

  it("make one switch of 30 creates with one name", async () => {
    const creates = Array.from({ length: 30 }, () => post(key, { name: "Contested" }));
    expect(await statuses(creates)).toEqual([201, ...Array(29).fill(422)]);
  });

  it("let one of 30 renames to one name pass", async () => {
    const made = await Promise.all(Array.from({ length: 30 }, (_, n) => makeSwitch(key, { name: `Contender ${n}` })));
    const renames = made.map(({ id }) => patch(key, id, { name: "Winner" }));
    expect(await statuses(renames)).toEqual([200, ...Array(29).fill(422)]);
  });

  it("answer 60 deletes of 30 switches with 30 200s and 30 404s, the total exact", async () => {
    const before = await call("GET", switchesPath, { key: t.key("other") });
    const made = await Promise.all(
      Array.from({ length: 30 }, (_, n) => makeSwitch(t.key("other"), { name: `Doomed ${n}` })),
    );
    const deletes = [...made, ...made].map(({ id }) =>
      call("DELETE", `${switchesPath}/${id}`, { key: t.key("other") }),
    );
    expect(await statuses(deletes)).toEqual([...Array(30).fill(200), ...Array(30).fill(404)]);
    expect((await call("GET", switchesPath, { key: t.key("other") })).body).toEqual(before.body);
  });
});
