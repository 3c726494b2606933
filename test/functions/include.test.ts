import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { oneOf } from "../../shared/schema/check.ts";
import { attachmentOf, form, upload } from "../support/fixtures/attachments.ts";
import { newSwitch, switchesPath } from "../support/fixtures/switches.ts";
import { parentTypes, tenants } from "../support/fixtures/tenants.ts";
import { call, fetchFromService, invalidBody, type ReceivedResponse } from "../support/requests/client.ts";

/** Additions to the interface: `include` and If-None-Match. */

const t = await tenants();

const get = (path: string, key = t.key("acme")): Promise<ReceivedResponse> => call("GET", path, { key });

const includeError = (...allowed: string[]) => {
  const detail = `must be ${oneOf(allowed)}`;
  return invalidBody("query", "/include", { detail, sub_code: "constraint.enum", params: { allowed } });
};

describe.each(parentTypes)("include=file on attachments of a %s", (kind) => {
  const own = () => (kind === "request" ? { request: { type: "request", data: { id: t.request("acme") } } } : {});
  const file = (data: object) => ({ associations: { ...own(), file: { type: "file", data } } });

  it("returns the file's properties in show and list, after the association of the request", async () => {
    const path = t.attachments(kind, "acme");
    const content = readFileSync(join(import.meta.dirname, "../support/fixtures/pdfs/user-aes-256.pdf"));
    const body = form({}, new File([content], "loa.pdf", { type: "text/plain; charset=utf-8" }));
    const { id } = attachmentOf(await call("POST", path, { key: t.key("acme"), body }));
    const plain = await get(`${path}/${id}`);
    const data = {
      bytes: content.length,
      content_type: "text/plain",
      sha256: expect.stringMatching(/^[\da-f]{64}$/),
      detected_type: "application/pdf",
      encrypted: true,
    };
    const withFile = await get(`${path}/${id}?include=file`);
    expect(withFile.body).toEqual({ ...Object(plain.body), ...file(data) });
    expect(Object.keys(Object(withFile.body).associations)).toEqual([...Object.keys(own()), "file"]);
    const listed = await get(`${path}?last=1&include=file`);
    expect(Object(listed.body).data.items).toEqual([withFile.body]);
    expect((await get(`${path}?last=1`)).body).toMatchObject({ data: { items: [plain.body] } });
  });

  it("returns 422 for any other name", async () => {
    const path = t.attachments(kind, "acme");
    const { id } = await upload(path, t.key("acme"));
    for (const names of ["", "files", "file,", "file,owner", "FILE", "file, forwarding"]) {
      const encoded = encodeURIComponent(names);
      const single = await get(`${path}/${id}?include=${encoded}`);
      const ofRequest = kind === "request" ? ["order"] : [];
      expect([single.status, single.body], names).toEqual([422, includeError(...ofRequest, "file", "forwarding")]);
      const listed = await get(`${path}?include=${encoded}`);
      const listable = kind === "request" ? ["order", "file", "forwarding"] : ["file"];
      expect([listed.status, listed.body], names).toEqual([422, includeError(...listable)]);
    }
  });

  it("accepts the names in any order and more than once", async () => {
    const path = t.attachments(kind, "acme");
    const { id } = await upload(path, t.key("acme"));
    const { body } = await get(`${path}/${id}?include=forwarding,file,forwarding`);
    expect(Object.keys(Object(body).associations)).toEqual([...Object.keys(own()), "file", "forwarding"]);
  });
});

it("include=order on attachments of a request returns the request's order, in show and list", async () => {
  const path = t.attachments("request", "acme");
  const { id } = await upload(path, t.key("acme"));
  const plain = Object((await get(`${path}/${id}`)).body);
  const order = { type: "order", data: { id: t.order("acme") } };
  const withOrder = await get(`${path}/${id}?include=order`);
  expect(withOrder.body).toEqual({ ...plain, associations: { ...plain.associations, order } });
  expect(Object((await get(`${path}?last=1&include=order`)).body).data.items).toEqual([withOrder.body]);
});

describe("include=account on switches", () => {
  const account = (name: "acme" | "east") => ({
    account: { type: "account", data: { id: t.account(name), name: name === "acme" ? "Acme" : "East" } },
  });

  it("returns each switch's account, in show and in both lists", async () => {
    const under = `/api/v1/accounts/${t.account("east")}/switches`;
    const own = await newSwitch(t.key("acme"), { name: "Inbound" });
    const below = await newSwitch(t.key("acme"), { name: "Inbound" }, under);
    for (const [{ id }, name] of [
      [own, "acme"],
      [below, "east"],
    ] as const) {
      const plain = await get(`${switchesPath}/${id}`);
      const withAccount = await get(`${switchesPath}/${id}?include=account`);
      expect(withAccount.body, name).toEqual({ ...Object(plain.body), associations: account(name) });
    }
    const owners = async (path: string) =>
      Object((await get(path)).body).data.items.map(({ associations }: { associations?: object }) => associations);
    expect(await owners(`${switchesPath}?include=account`)).toEqual([account("acme"), account("east")]);
    expect(await owners(`${under}?include=account`)).toEqual([account("east")]);
    expect(await owners(switchesPath)).toEqual([undefined, undefined]);
  });

  it("returns 422 for any other name", async () => {
    const { id } = await newSwitch(t.key("acme"), { name: "Other" });
    for (const path of [switchesPath, `${switchesPath}/${id}`, `/api/v1/accounts/${t.account("acme")}/switches`]) {
      const { status, body } = await get(`${path}?include=file`);
      expect([status, body], path).toEqual([422, includeError("account")]);
    }
  });
});

describe("If-None-Match", () => {
  const conditional = (path: string, tag: string) =>
    fetchFromService({
      method: "GET",
      path,
      init: { headers: { authorization: `Bearer ${t.key("acme")}`, "if-none-match": tag } },
    });

  const paths = async () => {
    const { id } = await newSwitch(t.key("acme"), { name: crypto.randomUUID() });
    const attachments = await Promise.all(
      parentTypes.map(async (kind) => {
        const path = t.attachments(kind, "acme");
        return `${path}/${(await upload(path, t.key("acme"))).id}`;
      }),
    );
    const all = [...attachments, `${switchesPath}/${id}`];
    return [...all, ...all.map((path) => `${path}?include=${path.startsWith(switchesPath) ? "account" : "file"}`)];
  };

  it("returns 304 without a body if it lists the ETag, and 200 for any other", async () => {
    for (const path of await paths()) {
      const tag = (await get(path)).headers.get("etag") ?? "";
      expect(tag, path).toMatch(path.includes("include") ? /^"1\.[\w-]{16}"$/ : /^"1"$/);
      const response = await conditional(path, `"x", W/${tag}`);
      expect([response.status, await response.text()], path).toEqual([304, ""]);
      expect(response.headers.get("etag")).toBe(tag);
      expect(response.headers.get("x-request-id")).toMatch(/^[\w-]{8,}$/);
      expect(response.headers.get("content-type")).toBeNull();
      expect((await conditional(path, '"0"')).status, path).toBe(200);
    }
  });

  it("has no effect on lists and on resources that do not exist", async () => {
    expect((await conditional(switchesPath, "*")).status).toBe(200);
    expect((await conditional(`${switchesPath}/01ARZ3NDEKTSV4RRFFQ69G5FAV`, "*")).status).toBe(404);
  });
});
