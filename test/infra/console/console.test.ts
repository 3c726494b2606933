import { mkdtemp, readdir, stat, writeFile } from "node:fs/promises";
import { get as httpGet, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startConsole } from "../../../infra/console/server.ts";
import { sessionOf } from "../../../infra/local/state.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { newSwitch } from "../../support/fixtures/switches.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { proxies } from "../../support/servers/own-table.ts";
import { checkOut } from "../../support/servers/workflow.ts";

let served: Awaited<ReturnType<typeof startConsole>>;
let upstream: Awaited<ReturnType<typeof carrier>>;
let cookie = "";
beforeAll(async () => {
  upstream = await carrier();
  served = await startConsole("the tests' table", "--port 1 ", 0);
  const { headers } = await fetch(served.url, { redirect: "manual" });
  cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
});
afterAll(async () => {
  await served.close();
  await upstream.close();
});

/** Sends any header, the Host included, which `fetch` does not. */
const send = async (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") => {
  const address = new URL(path, served.url);
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    httpGet(address, { headers, method }, resolve).on("error", reject),
  );
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
};
const open = async (path: string) => {
  const { status, body, headers } = await send(path, { cookie });
  return { status, body, location: headers.location };
};

describe("the console's server", () => {
  it("turns the secret in its address into a cookie of its own", async () => {
    const { status, headers } = await fetch(served.url, { redirect: "manual" });
    expect([status, headers.get("location")]).toEqual([303, "/"]);
    const port = new URL(served.url).port;
    expect(headers.get("set-cookie")).toMatch(
      new RegExp(`^console-${port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200$`),
    );
    expect(headers.get("set-cookie")).not.toContain(new URL(served.url).searchParams.get("secret"));
  });

  const other = () => `${cookie.slice(0, -1)}${cookie.endsWith("A") ? "B" : "A"}`;
  it.each<[string, number, string, () => Readonly<Record<string, string>>, string?]>([
    ["no cookie", 403, "/", () => ({})],
    ["another cookie", 403, "/", () => ({ cookie: other() })],
    ["a cookie of another length, of any characters", 403, "/", () => ({ cookie: `${cookie.split("=")[0]}=é` })],
    ["a wrong secret", 403, "/?secret=x", () => ({})],
    ["the secret on another path", 403, `/find?secret=x`, () => ({})],
    ["another site's link to the style", 403, "/style.css", () => ({ "sec-fetch-site": "cross-site" })],
    ["another host name", 403, "/", () => ({ cookie, host: "evil.example" })],
    ["a page of another site", 403, "/", () => ({ cookie, origin: "http://evil.example" })],
    ["a page of another port", 403, "/", () => ({ cookie, origin: "http://127.0.0.1:1" })],
    ["a link on another site", 403, "/", () => ({ cookie, "sec-fetch-site": "cross-site" })],
    ["a page of the same host, but another port", 403, "/", () => ({ cookie, "sec-fetch-site": "same-site" })],
    ["a POST without the cookie", 403, "/find", () => ({}), "POST"],
    ["a POST of another page", 403, "/find", () => ({ cookie, origin: "http://127.0.0.1:1" }), "POST"],
    ["a PUT", 405, "/", () => ({ cookie }), "PUT"],
    ["the cookie", 200, "/", () => ({ cookie })],
    ["the cookie among others", 200, "/", () => ({ cookie: `a=b; ${cookie}; c=d` })],
  ])("answers %s with %d", async (_, status, path, headers, method) => {
    const found = await send(path, headers(), method);
    expect(found.status).toBe(status);
    for (const hidden of ["checkouts", "the tests' table"])
      if (status !== 200) expect(found.body).not.toContain(hidden);
  });

  it("shows a link of a ticket how to open the console, with the same path and nothing of the stack", async () => {
    expect((await send("/.//evil.example/x")).body).toContain('<a href="/evil.example/x">');
    const path = `/find?text=${encodeURIComponent('"><script>')}`;
    for (const headers of [{}, { cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }]) {
      const { status, headers: received, body } = await send(path, headers);
      expect([status, received["content-type"]]).toEqual([403, "text/html; charset=utf-8"]);
      expect(body).toContain(`<a href="${path}">`);
      expect(body).toContain(`<code>./patchbay --port 1 console --serve ${new URL(served.url).port}</code>`);
      expect(body).not.toContain("the tests' table");
    }
  });

  it("keeps the session of a chosen port, and no other, so that a bookmark outlives the process", async () => {
    const folder = await mkdtemp(join(tmpdir(), "patchbay-console-"));
    vi.stubEnv("PATCHBAY_STATE", folder);
    const [session, another] = [sessionOf(4_000), sessionOf(4_001)];
    expect([sessionOf(4_000), sessionOf(4_001)]).toEqual([session, another]);
    expect(new Set([session, another, sessionOf(0), sessionOf(0)]).size).toBe(4);
    const file = join(folder, "console-4000.json");
    expect([await readdir(folder), (await stat(file)).mode & 0o777]).toEqual([
      ["console-4000.json", "console-4001.json"],
      0o600,
    ]);
    const { url, close } = await startConsole("a table", "", 0, session);
    const name = `console-${new URL(url).port}`;
    expect((await fetch(new URL("/", url), { headers: { cookie: `${name}=${session}` } })).status).toBe(200);
    await close();
    await writeFile(file, JSON.stringify({ session, until: Date.now() - 1 }));
    expect(sessionOf(4_000)).not.toBe(session);
    vi.unstubAllEnvs();
  });

  it("gives a search an address, unless it has an API key", async () => {
    const search = async (text: string, more: Readonly<Record<string, string>> = {}) => {
      const init = { method: "POST", headers: { cookie }, redirect: "manual" } as const;
      return fetch(new URL("/find", served.url), { ...init, body: new URLSearchParams({ text, ...more }) });
    };
    const { status, headers } = await search("Nord & Süd", { account: "A" });
    expect([status, headers.get("location")]).toEqual([303, "/find?text=Nord+%26+S%C3%BCd&account=A"]);
    const unknown = await search("Bearer apik_unknown");
    expect([unknown.status, unknown.headers.get("location")]).toEqual([200, null]);
    const body = await unknown.text();
    expect(body).toContain("<code>./patchbay --port 1 find - --account &#60;id&#62;</code>");
    expect(body).not.toContain("apik_unknown");
    for (const text of ["x".repeat(10_000), "é".repeat(10_000)]) {
      const long = await search(text);
      expect([long.status, await long.text()]).toEqual([404, expect.stringContaining("has 10000 characters.")]);
      const address = await send(`/find?text=${encodeURIComponent(text)}`, { cookie });
      expect([address.status, address.body.includes("has 10000 characters.")]).toEqual([404, true]);
    }
  });

  it("forbids scripts and styles that are not its own, frames, caches and other pages' reads", async () => {
    const { headers } = await send("/", { cookie });
    expect(headers).toMatchObject({
      "content-security-policy":
        "default-src 'none'; img-src data:; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      "cross-origin-resource-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
    });
    expect(headers).not.toHaveProperty("access-control-allow-origin");
    expect((await send("/?secret=x")).headers).toMatchObject({ "cache-control": "no-store" });
  });
});

const hostile = `<script>alert(1)</script>" '&`;
const escaped = "&#60;script&#62;alert(1)&#60;/script&#62;&#34; &#39;&#38;";

describe("the console's pages", () => {
  it("show a refused letter, why, its correction and what came too late, and write nothing", async () => {
    const order = await newOrder(addMessagingNumbers);
    const letter = await order.attach(0, hostile);
    const reason = "The signature on page 2 is missing.";
    await upstream.misbehave({ method: "PUT", action: "status", status: 422, body: { reason } });
    await checkOut(order.id);
    proxies.table.arm();
    const overview = await open("/");
    expect(overview.body).toContain(`<a href="/order/${order.id}">`);
    expect(overview.body).toMatch(
      new RegExp(
        `<h1>1 failed, 1 reported by doctor</h1>[^]*refused[^]*${reason}[^]*<code>./patchbay --port 1 order show ${order.id}</code>`,
      ),
    );
    const failed = await open(`/order/${order.id}`);
    expect(failed.status).toBe(200);
    expect(failed.body).toContain(escaped);
    expect(failed.body).not.toContain("<script>alert");
    expect(failed.body).toMatch(
      new RegExp(
        `class="mark red"[^>]*aria-label="refused · ${escaped.replaceAll("(", ".").replaceAll(")", ".")} · [^"]*${reason}`,
      ),
    );
    expect(failed.body).toContain(`<code>./patchbay --port 1 order checkout ${order.id} --wait</code>`);
    const writes = proxies.table.calls.filter(({ operation }) => /Put|Update|Delete|Write/.test(operation));
    expect([writes, proxies.table.calls.length > 0]).toEqual([[], true]);

    await order.remove(0, letter);
    await order.attach(0, "With the signature");
    await checkOut(order.id);
    const late = await order.attach(0, "Too late");
    const done = await open(`/order/${order.id}`);
    expect(done.body).toContain("CHECKED_OUT");
    expect(done.body).toMatch(/class="mark yellow"[^>]*aria-label="created · too late for the carrier/);
    expect(done.body).toContain(`/attachment/request/${order.requests[0]}/${late}`);
    const { body } = await open("/");
    expect(body).toMatch(
      new RegExp(
        `<h1>1 with late letters, 1 reported by doctor</h1>[^]*No checkout has failed[^]*Too late created[^]*order acknowledge ${order.id} --reason`,
      ),
    );
    expect((await open(`/order/${order.id}`)).body).toContain(`order acknowledge ${order.id} --reason`);
  });

  it("show an attachment with its kind, also after it was deleted, and never its bytes", async () => {
    const order = await newOrder(addMessagingNumbers);
    const letter = await order.attach(0, "LOA");
    const path = `/attachment/request/${order.requests[0]}/${letter}`;
    expect((await open(`/find?text=${letter.toLowerCase()}`)).location).toBe(path);
    const { body } = await open(path);
    for (const shown of ["detected_type", "application/pdf", "encrypted", "bytes", "request_attachment.created"])
      expect(body).toContain(shown);
    expect(body).toContain(`attachment download ${order.requests[0]} ${letter}`);
    await order.remove(0, letter);
    expect((await open(path)).body).toMatch(/was deleted[\s\S]*request_attachment\.deleted/);
  });

  it("show an account with its orders, keys and switches, and no secret", async () => {
    const order = await newOrder(addMessagingNumbers);
    const secret = { name: "Inbound", sms_auth_method: "BEARER", sms_secret: "secret-of-the-switch" };
    const { id } = await newSwitch(order.key, secret);
    const account = await open(`/account/${order.account}`);
    for (const shown of [order.id, id, "messaging_switches:*", "API keys"]) expect(account.body).toContain(shown);
    const shown = await open(`/switch/${id}`);
    expect(shown.body).toMatch(/\(set\)[\s\S]*switch\.created/);
    for (const { body } of [account, shown])
      for (const hidden of ["secret-of-the-switch", order.key]) expect(body).not.toContain(hidden);
    const body = new URLSearchParams({ text: order.key });
    const init = { method: "POST", headers: { cookie }, body, redirect: "manual" } as const;
    const found = await fetch(new URL("/find", served.url), init);
    expect(found.headers.get("location")).toMatch(/^\/api_key\/\w{26}$/);
  });

  it.each([
    ["/order/01J00000000000000000000000", "There is no order"],
    ["/order/", "There is no order"],
    ["/attachment/order/x/y", "There is no request and no order x"],
    ["/attachment/order", "There is no such page."],
    ["/toString/x", "There is no such page."],
    ["/request/%22%3E", "There is no request"],
    ["/nothing", "There is no such page."],
  ])("answer %s with a 404 that says what is missing", async (path, message) => {
    const { status, body } = await open(path);
    expect([status, body.includes(message)]).toEqual([404, true]);
  });

  it("say what to do if the table does not answer or refuses", async () => {
    const name = process.env.TABLE_NAME;
    process.env.TABLE_NAME = "none";
    const { status, body } = await open("/");
    process.env.TABLE_NAME = name;
    expect([status, body.includes("The table or the state machine does not exist")]).toEqual([503, true]);
  });
});
