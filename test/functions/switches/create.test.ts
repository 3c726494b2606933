import { describe, expect, it } from "vitest";
import { switchProblems } from "../../../shared/switches/switch-schema.ts";
import { atOnce } from "../../support/fault-proxy/table-proxy.ts";
import { defaultSettings, newSwitch, patch, post, switchesPath, switchOf } from "../../support/fixtures/switches.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { call, invalidBody, invalidParametersOf, takenBody } from "../../support/requests/client.ts";

const t = await tenants();

const full = {
  name: "Everything",
  sms_enabled: true,
  sms_auth_method: "BASIC",
  sms_protocol: "HTTP",
  sms_endpoints: ["https://example.com/sms", "http://10.0.0.1:8080/in?x=1"],
  sms_identity: "user",
  sms_message_format: "LEGACY_SMS_2_0",
  sms_secret: "planted-secret",
  mms_enabled: true,
  mms_auth_method: "BEARER",
  mms_protocol: "MM4",
  mms_endpoints: ["mm4.example.com:2525", "mms@example.com"],
  mms_identity: null,
  mms_message_format: "SERVICE_MMS_1_0",
  mms_secret: "token",
};

describe("POST /switches", () => {
  it("creates a switch with defaults for everything but its name", async () => {
    const response = await post(t.key("acme"), { name: "  Plain  " });
    const { id, inserted_at, updated_at } = switchOf(response);
    expect([response.status, response.body]).toEqual([
      201,
      { type: "switch", data: { id, name: "Plain", ...defaultSettings, inserted_at, updated_at } },
    ]);
    expect(inserted_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(updated_at).toBe(inserted_at);
    expect(response.headers.get("etag")).toBe('"1"');
  });

  const optional = Object.keys(full).filter((name) => name !== "name");
  it.each([
    ["each", optional.map((name) => ({ [name]: null }))],
    ["all", [Object.fromEntries(optional.map((name) => [name, null]))]],
  ])("takes null for %s of the properties with a default as if left out", async (label, bodies) => {
    for (const [n, nulls] of bodies.entries()) {
      const name = `Nulls, ${label} ${n}`;
      const headers = { "idempotency-key": crypto.randomUUID() };
      const response = await post(t.key("acme"), { name, ...nulls }, switchesPath, headers);
      expect([response.status, response.body], JSON.stringify(nulls)).toMatchObject([201, { data: defaultSettings }]);
      const without = await post(t.key("acme"), { name }, switchesPath, headers);
      expect(without.headers.get("idempotency-replayed"), "the same content").toBe("true");
    }
  });

  it("judges an enabled channel without what is null", async () => {
    const nulls = { sms_endpoints: null, sms_identity: null, sms_secret: null };
    const http = { sms_enabled: true, sms_protocol: "HTTP", sms_auth_method: "BASIC" };
    const response = await post(t.key("acme"), { name: null, ...http, ...nulls });
    expect([response.status, invalidParametersOf(response)]).toEqual([
      422,
      ["name", "sms_endpoints", "sms_identity", "sms_secret"].map((name) => `body /data/${name} constraint.required`),
    ]);
  });

  it("trims the blanks around its endpoints, before their length is judged", async () => {
    const url = `https://example.com/${"x".repeat(2028)}`;
    const sent = { sms_protocol: "HTTP", sms_endpoints: [`\t${url} \r\n`, "\u00a0http://a.example\ufeff"] };
    const mail = { mms_protocol: "EMAIL", mms_endpoints: [" a@b.example "] };
    expect(switchOf(await post(t.key("acme"), { name: "Padded", ...sent, ...mail }))).toMatchObject({
      sms_endpoints: [url, "http://a.example"],
      mms_endpoints: ["a@b.example"],
    });
    const long = await post(t.key("acme"), { name: "never made", sms_protocol: "NONE", sms_endpoints: [`${url}x`] });
    expect(invalidParametersOf(long)).toEqual(["body /data/sms_endpoints/0 constraint.length"]);
  });

  it("stores and returns every property, secrets included", async () => {
    const response = await post(t.key("acme"), { ...full, unknown: 1, sms_options: { ignored: true } });
    const data = { ...defaultSettings, ...full };
    expect(switchOf(response)).toMatchObject(data);
    const fetched = await call("GET", `${switchesPath}/${switchOf(response).id}`, { key: t.key("acme") });
    expect([fetched.status, fetched.body]).toEqual([200, response.body]);
  });

  it("names every invalid property, and the Idempotency-Key, in one response", async () => {
    const data = {
      name: "  ",
      sms_enabled: "yes",
      sms_protocol: "MM4",
      sms_endpoints: [7],
      sms_secret: "x".repeat(1025),
      mms_enabled: true,
      mms_auth_method: "BASIC",
      mms_protocol: "HTTP",
      mms_identity: "x".repeat(256),
    };
    const response = await post(t.key("acme"), data, switchesPath, { "idempotency-key": "a b" });
    expect(response.status).toBe(422);
    expect(invalidParametersOf(response)).toEqual([
      "body /data/name constraint.required",
      "body /data/sms_enabled constraint.type",
      "body /data/sms_protocol constraint.enum",
      "body /data/sms_endpoints/0 constraint.type",
      "body /data/sms_secret constraint.length",
      "body /data/mms_identity constraint.length",
      "body /data/mms_endpoints constraint.required",
      "body /data/mms_secret constraint.required",
      "header /Idempotency-Key constraint.format",
    ]);
  });

  it("names what is wrong with other endpoints, and with the characters of a credential that is too long", async () => {
    const response = await post(t.key("acme"), {
      name: "never made",
      sms_auth_method: "BASIC",
      sms_protocol: "HTTP",
      sms_endpoints: [7, "nonsense", `https://${"x".repeat(2048)}`, "https://example.com"],
      sms_identity: "a:".repeat(128),
      sms_secret: "\n".repeat(1025),
    });
    expect(invalidParametersOf(response)).toEqual([
      "body /data/sms_endpoints/0 constraint.type",
      "body /data/sms_endpoints/2 constraint.length",
      "body /data/sms_identity constraint.length",
      "body /data/sms_secret constraint.length",
      "body /data/sms_endpoints/1 constraint.format",
      "body /data/sms_secret constraint.format",
      "body /data/sms_identity constraint.format",
    ]);
  });

  it.each([
    ["no type", { data: { name: "n" } }, ["body /type constraint.required"]],
    ["another type", { type: "request", data: { name: "n" } }, ["body /type constraint.enum"]],
    ["no data", { type: "switch" }, ["body /data constraint.required"]],
    ["no name", { type: "switch", data: {} }, ["body /data/name constraint.required"]],
    ["null as name", { type: "switch", data: { name: null } }, ["body /data/name constraint.required"]],
    ["a list as name", { type: "switch", data: { name: [] } }, ["body /data/name constraint.type"]],
    ["a number as name", { type: "switch", data: { name: 7 } }, ["body /data/name constraint.type"]],
    ["an array", [], ["body  constraint.type"]],
    ["null", null, ["body  constraint.type"]],
  ])("refuses %s", async (_, json, parameters) => {
    const response = await call("POST", switchesPath, { key: t.key("acme"), json });
    expect([response.status, invalidParametersOf(response)]).toEqual([422, parameters]);
  });

  it("refuses a name that an object has twice, at any depth, together with all other errors", async () => {
    const body =
      '{"type": "switch", "data": {"name": "a", "sms_enabled": 1, "n\\u0061me": "b", "x": [{"__proto__": 1, "__proto__": 2}]}, "type": "switch"}';
    const headers = { "content-type": "application/json" };
    const response = await call("POST", switchesPath, { key: t.key("acme"), body, headers });
    expect([response.status, invalidParametersOf(response)]).toEqual([
      422,
      [
        "body /data/name malformed",
        "body /data/x/0/__proto__ malformed",
        "body /type malformed",
        "body /data/sms_enabled constraint.type",
      ],
    ]);
    const update = { type: "switch", data: { name: "Given once" } };
    const { id } = await newSwitch(t.key("acme"), update.data);
    const twice = JSON.stringify(update).replace("}}", ',"name":"Twice"}}');
    const refused = await call("PATCH", `${switchesPath}/${id}`, { key: t.key("acme"), body: twice, headers });
    expect([refused.status, refused.body]).toEqual([
      422,
      invalidBody("body", "/data/name", { sub_code: "malformed", detail: "must be given only once" }),
    ]);
  });

  const noText = ["\0", "\n", "\r", "a\r\nb"];
  const control = ["\u0001", "\t", "\u001f", "\u007f", "\u0080", "\u009f"];
  const invisible = ["   ", "日本", " t", "t ", "é", "\u00a0", "\u200b"];
  const all = [...noText, ...control, ...invisible];
  // The method, the identity, the secret, and the refused properties.
  it.each<[string, string, string, string[]]>([
    ...noText.map((text): [string, string, string, string[]] => ["NONE", text, text, ["secret", "identity"]]),
    ...[...control, ...invisible, "a:b"].map((text): [string, string, string, string[]] => ["NONE", text, text, []]),
    ...[...noText, ...control].map((text): [string, string, string, string[]] => [
      "BASIC",
      `a${text}`,
      `b${text}`,
      ["secret", "identity"],
    ]),
    ...invisible.map((text): [string, string, string, string[]] => ["BASIC", text, text, []]),
    ["BASIC", "a:b", "a:b", ["identity"]],
    ["BASIC", "a:b\n", "b", ["identity"]],
    ...all.map((text): [string, string, string, string[]] => ["BEARER", "a:b", `t${text}x`, ["secret"]]),
    ["BEARER", "日本", "!token~", []],
  ])("takes with %s only credentials that a header can carry: %j and %j", async (method, identity, secret, refused) => {
    for (const channel of ["sms", "mms"]) {
      const credentials = { auth_method: method, identity, secret };
      const data = Object.fromEntries(
        Object.entries(credentials).map(([part, value]) => [`${channel}_${part}`, value]),
      );
      const problems = switchProblems({ name: "Credentials", ...data });
      expect(
        problems.map(({ pointer, sub_code }) => `${pointer} ${sub_code}`),
        channel,
      ).toEqual(refused.map((part) => `/data/${channel}_${part} constraint.format`));
    }
  });

  it.each<[string, string, string[]]>([
    ["sms", "HTTP", ["http://example.com", "https://EXAMPLE.com:8443/a%20b?c=d#e", "http://[::1]:3000/"]],
    ["mms", "HTTP", ["http://example.com./in", "http://10.0.0.1/", "https://internal_host/in"]],
    ["sms", "EMAIL", ["first.last+tag@mail.example.com", "r&d@example.com", "info@xn--h1alffa9f.xn--p1ai"]],
    ["sms", "SMTP", ["relay.example.com", "relay.example.com:25", "192.0.2.7:2525", "[2001:db8::1]:25", "a@b.com"]],
    ["mms", "MM4", ["localhost:25"]],
    ["sms", "MAILBOX", ["any text"]],
    ["mms", "NONE", ["any text"]],
  ])("accepts for %s over %s the endpoints %j", async (channel, protocol, endpoints) => {
    const data = { [`${channel}_protocol`]: protocol, [`${channel}_endpoints`]: endpoints };
    const response = await post(t.key("acme"), { name: `${channel} ${protocol}`, ...data });
    expect([response.status, response.body]).toMatchObject([201, { data }]);
  });

  it.each<[string, string, string[]]>([
    ["sms", "HTTP", ["example.com", "/relative", "ftp://example.com/", "javascript:alert(1)", "https://", ""]],
    ["mms", "HTTP", ["https://user:secret@example.com/", "http://user@example.com/", "https://@example.com/"]],
    ["sms", "HTTP", ["https://exa mple.com/", "https:// example.com/", "https://example.com/\r\nX: 1", "http://\\x"]],
    ["mms", "HTTP", ["http://\nhost/", "http://\thost", "http://ü.example/", "http://\u00adhost/"]],
    ["mms", "HTTP", ["http:///x", "http://.", "http://a..b/", "http://example.com:0/", "http://example.com:99999/"]],
    [
      "mms",
      "HTTP",
      ["http://h.example\\@evil.example/", "https://exa%6Dple.com/", "http://127.1/", "http://-h.example/"],
    ],
    ["mms", "EMAIL", ["a@b-.com", `${"x".repeat(65)}@b.com`, `a@${"x".repeat(64)}.com`]],
    ["sms", "EMAIL", ["not-an-email", "a@b@example.com", "https://example.com", ""]],
    ["sms", "SMTP", ["relay.example.com:0", "relay.example.com:65536", "relay example", "smtp://relay.example.com"]],
    ["mms", "MM4", [":25", "-x.example.com", "[::1", "a..b"]],
  ])("refuses for %s over %s each of %j, whether or not the channel is enabled", async (channel, protocol, invalid) => {
    const valid = protocol === "HTTP" ? "https://example.com" : "ops@example.com";
    for (const enabled of [true, false]) {
      const settings = { protocol, enabled, endpoints: [valid, ...invalid] };
      const data = Object.entries(settings).map(([name, value]) => [`${channel}_${name}`, value]);
      const response = await post(t.key("acme"), { name: "never made", ...Object.fromEntries(data) });
      const errors = invalid.map((_, nth) => `body /data/${channel}_endpoints/${nth + 1} constraint.format`);
      expect([response.status, invalidParametersOf(response)], `enabled: ${enabled}`).toEqual([422, errors]);
    }
  });

  it.each(["HTTP", "NONE"])(
    "refuses an endpoint that is given twice, with other problems, over %s",
    async (protocol) => {
      const endpoint = "https://example.com/in";
      const endpoints = [endpoint, `${endpoint}/`, ` ${endpoint}`, endpoint.toUpperCase(), "x".repeat(2_049)];
      const data = { sms_protocol: protocol, sms_endpoints: endpoints };
      const response = await post(t.key("acme"), { name: "never made", ...data });
      expect([response.status, invalidParametersOf(response)]).toEqual([
        422,
        ["body /data/sms_endpoints/4 constraint.length", "body /data/sms_endpoints/2 constraint.unique"],
      ]);
      const { id } = await newSwitch(t.key("acme"), { ...data, name: protocol, sms_endpoints: endpoints.slice(0, 2) });
      const changed = await patch(t.key("acme"), id, { sms_endpoints: [endpoint, `${endpoint} `] });
      const problem = { sub_code: "constraint.unique", detail: "must be given only once" };
      expect([changed.status, changed.body]).toEqual([422, invalidBody("body", "/data/sms_endpoints/1", problem)]);
    },
  );

  it.each(["sms", "mms"])("with %s enabled requires what its protocol and its authentication need", async (channel) => {
    const send = (name: string, data: { enabled: boolean } & object) => {
      const settings = Object.entries(data).map(([each, value]) => [`${channel}_${each}`, value]);
      return post(t.key("acme"), { name, ...Object.fromEntries(settings) });
    };
    for (const [data, missing] of [
      [{ protocol: "HTTP" }, ["endpoints"]],
      [{ protocol: channel === "sms" ? "EMAIL" : "MM4", endpoints: [] }, ["endpoints"]],
      [{ protocol: "SMTP" }, ["endpoints"]],
      [{ auth_method: "BASIC" }, ["identity", "secret"]],
      [{ auth_method: "BASIC", identity: "", secret: "s" }, ["identity"]],
      [{ auth_method: "BASIC", identity: "i" }, ["secret"]],
      [{ auth_method: "BEARER", identity: "i" }, ["secret"]],
    ] as const) {
      const label = JSON.stringify(data);
      const response = await send("never made", { enabled: true, ...data });
      const errors = missing.map((name) => `body /data/${channel}_${name} constraint.required`);
      expect([response.status, invalidParametersOf(response)], label).toEqual([422, errors]);
      expect((await send(`off ${channel} ${label}`, { enabled: false, ...data })).status, label).toBe(201);
    }
    expect(
      (await send(`on ${channel}`, { enabled: true, ...(channel === "sms" && { protocol: "MAILBOX" }) })).status,
    ).toBe(201);
  });

  it("refuses a name that is taken in the account, names the switch that has it, and reports only other problems if there are any", async () => {
    const { id } = await newSwitch(t.key("acme"), { name: "Taken" });
    const response = await post(t.key("acme"), { name: " Taken " });
    expect([response.status, response.body]).toEqual([422, takenBody("/data/name", { id, type: "switch" })]);
    const other = await post(t.key("acme"), { name: "Taken", sms_enabled: 1 });
    expect(invalidParametersOf(other)).toEqual(["body /data/sms_enabled constraint.type"]);
    expect((await post(t.key("east"), { name: "Taken" })).status).toBe(201);
    expect((await post(t.key("acme"), { name: "taken" })).status).toBe(201);
  });
});

describe("POST /accounts/{account_id}/switches", () => {
  const under = (account: string) => `/api/v1/accounts/${account}/switches`;

  it("creates in the key's own account and in those below it, visible to the keys of both", async () => {
    const own = await newSwitch(t.key("acme"), { name: "under own" }, under(t.account("acme")));
    const below = await newSwitch(t.key("acme"), { name: "under east" }, under(t.account("east").toLowerCase()));
    const statusOf = async (key: string, id: string) => (await call("GET", `${switchesPath}/${id}`, { key })).status;
    expect([await statusOf(t.key("acme"), own.id), await statusOf(t.key("acme"), below.id)]).toEqual([200, 200]);
    expect([await statusOf(t.key("east"), own.id), await statusOf(t.key("east"), below.id)]).toEqual([404, 200]);
  });

  it("refuses a name that POST /switches has used in the account", async () => {
    await newSwitch(t.key("east"), { name: "shared" });
    const response = await post(t.key("acme"), { name: "shared" }, under(t.account("east")));
    expect(invalidParametersOf(response)).toEqual(["body /data/name constraint.unique"]);
  });
});

describe("an Idempotency-Key", () => {
  it("creates one switch for 20 concurrent requests, which all return the same response", async () => {
    // If-None-Match applies only to GET.
    const headers = { "idempotency-key": "k1", "if-none-match": "*" };
    const data = { name: "Once", sms_secret: "s" };
    const responses = await atOnce(20, () => post(t.key("acme"), data, switchesPath, headers));
    const [first] = responses;
    for (const [index, response] of responses.entries())
      expect([response.status, response.body], `request ${index}`).toEqual([201, first?.body]);
    expect(responses.filter(({ headers }) => headers.get("idempotency-replayed") !== "true")).toHaveLength(1);
  });

  it("compares a body as it was sent, without defaults", async () => {
    const path = `/api/v1/accounts/${t.account("acme")}/switches`;
    const send = (data: object) => post(t.key("acme"), data, path, { "idempotency-key": "k2" });
    expect((await send({ name: "Fingerprint", sms_enabled: false })).status).toBe(201);
    const again = await send({ sms_enabled: false, name: " Fingerprint " });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    const other = await send({ name: "Fingerprint" });
    expect(invalidParametersOf(other)).toEqual(["header /Idempotency-Key constraint.unique"]);
  });
});
