import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { defaultSettings, newSwitch, patch, post, switchesPath, switchOf } from "../support/fixtures/switches.ts";
import { call, codeOf, notFoundBody } from "../support/requests/client.ts";
import { type Customer, newCustomer } from "./customer.ts";

let customer: Customer;
let key: string;
beforeAll(async () => {
  customer = await newCustomer();
  key = customer.key("acme");
});

const List = z.object({ data: z.object({ items: z.array(z.object({ data: z.object({ id: z.string() }) })) }) });
const idsOf = ({ body }: { body: unknown }) => z.parse(List, body).data.items.map(({ data }) => data.id);
const under = (account: string) => `/api/v1/accounts/${customer.id("accounts", account)}/switches`;

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
    expect(switchOf(updated)).toEqual({
      ...original,
      name: "Renamed",
      mms_secret: "s",
      updated_at: switchOf(updated).updated_at,
    });

    const deleted = await call("DELETE", `${switchesPath}/${original.id}`, { key });
    expect([deleted.status, deleted.body]).toEqual([200, updated.body]);
    const gone = await call("GET", `${switchesPath}/${original.id}`, { key });
    expect([gone.status, gone.body]).toEqual([404, notFoundBody("switch", original.id)]);
  });

  it("under a sub-account is listed in the account above it and no other", async () => {
    const own = await newSwitch(key, { name: "Own" });
    const eastern = await newSwitch(key, { name: "Eastern" }, under("east"));
    expect(idsOf(await call("GET", switchesPath, { key }))).toEqual([own.id, eastern.id].sort());
    expect(idsOf(await call("GET", `${switchesPath}?first=1`, { key }))).toEqual([own.id]);
    expect(idsOf(await call("GET", switchesPath, { key: customer.key("other") }))).toEqual([]);
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
