import { beforeAll, describe, expect, it } from "vitest";
import { makeSwitch, post, switchesPath } from "../../support/fixtures/switches.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { call, faultsOf } from "../../support/requests/client.ts";

/** What real clients send, and what they must not get away with. */

let key: string;
beforeAll(async () => {
  key = (await tenants()).key("acme");
});

let made = 0;
const faults = async (settings: object) => {
  made += 1;
  return faultsOf(await post(key, { name: `Quirk ${made}`, ...settings }));
};

describe("a switch that cannot work", () => {
  it.each(["http:///x", "http://.", "http://a..b/", "http://example.com:0/", "https://@example.com/", "http://\\x"])(
    "is refused for the endpoint %s",
    async (endpoint) => {
      const settings = { sms_protocol: "HTTP", sms_endpoints: [endpoint] };
      expect(await faults(settings)).toEqual(["body /data/sms_endpoints/0 constraint.format"]);
    },
  );

  it.each(["http://example.com./in", "http://[::1]:8080/", "http://10.0.0.1/", "https://internal_host/in"])(
    "is not one with the endpoint %s",
    async (endpoint) => {
      made += 1;
      const settings = { name: `Quirk ${made}`, mms_protocol: "HTTP", mms_endpoints: [endpoint] };
      expect((await post(key, settings)).status).toBe(201);
    },
  );

  it.each([
    ["sms_identity", "a\r\nb"],
    ["sms_secret", "a\nb"],
    ["mms_identity", "a\u0000b"],
    ["mms_secret", "a\r"],
  ])("is refused for %s with what a header cannot carry", async (property, value) => {
    expect(await faults({ [property]: value })).toEqual([`body /data/${property} constraint.format`]);
  });

  it("is refused for a colon in the user name of BASIC, which is fine otherwise", async () => {
    expect(await faults({ sms_auth_method: "BASIC", sms_identity: "a:b" })).toEqual([
      "body /data/sms_identity constraint.format",
    ]);
    expect((await post(key, { name: "Colon", sms_auth_method: "BEARER", sms_identity: "a:b" })).status).toBe(201);
  });
});

describe("JSON", () => {
  it("is strict UTF-8: a secret is never stored changed", async () => {
    const body = Buffer.from(`{"type":"switch","data":{"name":"Bytes","sms_secret":"\xe4"}}`, "latin1");
    const answer = await call("POST", switchesPath, { key, body, headers: { "content-type": "application/json" } });
    expect([answer.status, faultsOf(answer)]).toEqual([422, ["body  malformed"]]);
  });

  it("has one fault for a value of the wrong type", async () => {
    expect(await faults({ name: [] })).toEqual(["body /data/name constraint.type"]);
  });

  it("with a default left out is compared by an Idempotency-Key as it was sent", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const send = (data: object) => call("POST", switchesPath, { key, headers, json: { type: "switch", data } });
    expect((await send({ name: "Fingerprint", sms_enabled: false })).status).toBe(201);
    expect((await send({ sms_enabled: false, name: " Fingerprint " })).headers.get("idempotency-replayed")).toBe(
      "true",
    );
    expect(faultsOf(await send({ name: "Fingerprint" }))).toEqual(["header /Idempotency-Key constraint.unique"]);
  });
});

describe("a list's query", () => {
  it.each(["9999999999999999", "9".repeat(400), "-9999999999999999", "0", "101"])(
    "first=%s is out of range",
    async (first) => {
      const answer = await call("GET", `${switchesPath}?first=${first}`, { key });
      expect(faultsOf(answer)).toEqual(["query /first constraint.range"]);
    },
  );

  it.each(["constructor", "__proto__", "toString"])("may have the unknown parameter %s", async (name) => {
    await makeSwitch(key, { name: `Named by ${name}` });
    expect((await call("GET", `${switchesPath}?${name}=1`, { key, headers: { [name]: "1" } })).status).toBe(200);
  });
});
