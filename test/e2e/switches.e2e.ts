import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { pageOf } from "../support/fixtures/attachments.ts";
import { defaultSettings, newSwitch, patch, post, switchesPath, switchOf } from "../support/fixtures/switches.ts";
import { call, codeOf, notFoundBody } from "../support/requests/client.ts";
import { type Customer, newCustomer } from "./customer.ts";

let customer: Customer;
let key: string;
beforeAll(async () => {
  customer = await newCustomer();
  key = customer.key("acme");
});

describe("a switch", () => {
  it("is created, shown, updated and deleted", async () => {
    const http = { sms_enabled: true, sms_protocol: "HTTP", sms_endpoints: ["https://example.com/sms"] };
    const created = await post(key, { name: "Main", ...http });
    expect([created.status, created.headers.get("etag")]).toEqual([201, '"1"']);
    const original = switchOf(created);
    expect(original).toMatchObject({ ...defaultSettings, ...http, name: "Main" });

    const fetched = await call("GET", `${switchesPath}/${original.id}`, { key });
    expect([fetched.status, fetched.body]).toEqual([200, created.body]);

    const updated = await patch(key, original.id, { name: "Renamed", mms_secret: "s" });
    expect([updated.status, updated.headers.get("etag")]).toEqual([200, '"2"']);
    const changed = { name: "Renamed", mms_secret: "s", updated_at: expect.any(String) };
    expect(switchOf(updated)).toEqual({ ...original, ...changed });

    const deleted = await call("DELETE", `${switchesPath}/${original.id}`, { key });
    expect([deleted.status, deleted.body]).toEqual([200, updated.body]);
    const gone = await call("GET", `${switchesPath}/${original.id}`, { key });
    expect([gone.status, gone.body]).toEqual([404, notFoundBody("switch", original.id)]);
  });

  it("under a sub-account is listed in the account above it and no other", async () => {
    const own = await newSwitch(key, { name: "Own" });
    const path = `/api/v1/accounts/${customer.id("accounts", "east")}/switches`;
    const eastern = await newSwitch(key, { name: "Eastern" }, path);
    const idsOf = async (name: string) => pageOf(await call("GET", switchesPath, { key: customer.key(name) })).ids;
    expect(await idsOf("acme")).toEqual([own.id, eastern.id].sort());
    expect(await idsOf("other")).toEqual([]);
  });

  it("is created once for one Idempotency-Key, and not overwritten with an outdated If-Match", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const first = await post(key, { name: "Once" }, switchesPath, headers);
    const again = await post(key, { name: "Once" }, switchesPath, headers);
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
    const { id } = switchOf(first);
    expect((await patch(key, id, { sms_identity: "a" }, { "if-match": '"1"' })).status).toBe(200);
    const lost = await patch(key, id, { sms_identity: "b" }, { "if-match": '"1"' });
    expect([lost.status, codeOf(lost)]).toEqual([412, "precondition_failed"]);
  });
});
