import { describe, expect, it } from "vitest";
import { newSwitch, post, switchesPath } from "../../support/fixtures/switches.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { call, invalidParametersOf } from "../../support/requests/client.ts";

/** Unusual requests that real clients send, and malformed ones that must be refused. */

const key = (await tenants()).key("acme");

let switchCount = 0;
const invalidParameters = async (settings: object) => {
  switchCount += 1;
  return invalidParametersOf(await post(key, { name: `Quirk ${switchCount}`, ...settings }));
};

describe("a switch", () => {
  it.each([
    ["sms_identity", "a\r\nb"],
    ["sms_secret", "a\nb"],
    ["mms_identity", "a\u0000b"],
    ["mms_secret", "a\r"],
  ])("cannot have control characters in %s", async (property, value) => {
    expect(await invalidParameters({ [property]: value })).toEqual([`body /data/${property} constraint.format`]);
  });

  it("cannot have a colon in the user name of BASIC, but can in that of BEARER", async () => {
    expect(await invalidParameters({ sms_auth_method: "BASIC", sms_identity: "a:b" })).toEqual([
      "body /data/sms_identity constraint.format",
    ]);
    expect((await post(key, { name: "Colon", sms_auth_method: "BEARER", sms_identity: "a:b" })).status).toBe(201);
  });
});

describe("a JSON body", () => {
  it("gets one error for a value of the wrong type", async () => {
    expect(await invalidParameters({ name: [] })).toEqual(["body /data/name constraint.type"]);
  });

  it("is compared by an Idempotency-Key as it was sent, without defaults", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const send = (data: object) => call("POST", switchesPath, { key, headers, json: { type: "switch", data } });
    expect((await send({ name: "Fingerprint", sms_enabled: false })).status).toBe(201);
    expect((await send({ sms_enabled: false, name: " Fingerprint " })).headers.get("idempotency-replayed")).toBe(
      "true",
    );
    expect(invalidParametersOf(await send({ name: "Fingerprint" }))).toEqual([
      "header /Idempotency-Key constraint.unique",
    ]);
  });
});

describe("a list's query", () => {
  it.each(["9999999999999999", "9".repeat(400), "-9999999999999999"])("cannot have first=%s", async (first) => {
    const response = await call("GET", `${switchesPath}?first=${first}`, { key });
    expect(invalidParametersOf(response)).toEqual(["query /first constraint.range"]);
  });

  it.each(["constructor", "__proto__", "toString"])("can have the unknown parameter %s", async (name) => {
    await newSwitch(key, { name: `Named by ${name}` });
    expect((await call("GET", `${switchesPath}?${name}=1`, { key, headers: { [name]: "1" } })).status).toBe(200);
  });
});
