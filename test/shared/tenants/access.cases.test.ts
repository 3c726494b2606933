import { S3Client } from "@aws-sdk/client-s3";
import type { Context } from "aws-lambda";
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod/mini";
import { lambdaContext } from "../../../infra/local/proxy-event.ts";
import {
  attachmentParent,
  deletableAttachment,
  oneAttachment,
  uploadOfParent,
} from "../../../shared/attachments/access.ts";
import { minimalMetadata } from "../../../shared/attachments/attachment-schema.ts";
import { attachmentDocument, createAttachment, deleteAttachment } from "../../../shared/attachments/attachments.ts";
import {
  completeOrderUploadRoute,
  completeRequestUploadRoute,
  deleteOrderAttachmentRoute,
  deleteRequestAttachmentRoute,
  listOrderAttachmentsRoute,
  listRequestAttachmentsRoute,
  showOrderAttachmentRoute,
  showRequestAttachmentRoute,
} from "../../../shared/attachments/routes.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { endpoint, listEndpoint } from "../../../shared/http/endpoint.ts";
import type { GatewayEvent } from "../../../shared/http/request.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { accountOfSwitches, oneSwitch } from "../../../shared/switches/access.ts";
import {
  createSwitchRoute,
  createSwitchUnderAccountRoute,
  listSwitchesRoute,
  listSwitchesUnderAccountRoute,
  showSwitchRoute,
} from "../../../shared/switches/routes.ts";
import { NewSwitch } from "../../../shared/switches/switch-schema.ts";
import { dynamodb } from "../../../shared/table/client.ts";
import { hashApiKey, keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import type { Lookup } from "../../../shared/tenants/access.ts";
import { canAccess, hasPermission, type OrderState } from "../../../shared/tenants/tenant-schema.ts";
import { eventOf } from "../../support/requests/event.ts";
import { captureLogs } from "../../support/servers/captured-logs.ts";

/** Whom the access checks admit: each decision as a table, with accounts and callers that exist nowhere. */

const now = new Date("2026-11-21T10:00:00.000Z");
const features = { ordering_attachment_access: true };
const account = { id: "own", name: "Own", ancestors: ["root"], features, switch_count: 0 };
const apiKey = { id: "key", account: "own", user: "user", expires_at: null, revoked: false };
const user = (...permissions: readonly string[]) => ({
  id: "user",
  account: "own",
  permissions: [...permissions],
  disabled: false,
});
const callerFrom = (from: string, ...permissions: readonly string[]) => ({
  apiKey: { ...apiKey, account: from },
  user: user(...permissions),
});
const pathIdOf = (id: string) => ({ id, requestedId: `requested ${id}` });

/** What an error says, or what was returned. */
const outcomeOf = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const [{ code = "", params = {} } = {}] = error.body.errors;
    return `${code} ${JSON.stringify(params)}`;
  }
};

const lacks = (permission: string) => `access_denied.permission ${JSON.stringify({ permission })}`;
const missing = (type: string, id: string) =>
  `not_found ${JSON.stringify({ resource: { id: `requested ${id}`, type } })}`;

describe("an account", () => {
  it.each([
    ["own", true],
    ["root", true],
    ["sibling", false],
  ])("can be accessed from %s: %s", (from, can) => {
    expect(canAccess(from, account)).toBe(can);
  });

  it.each([
    [["a:show"], true],
    [["a:*"], true],
    [["a:list"], false],
    [["b:*"], false],
    [["*"], false],
    [[], false],
  ])("user with %j has a:show: %s", (permissions, has) => {
    expect(hasPermission(user(...permissions), "a:show")).toBe(has);
  });
});

describe("attachments", () => {
  const all = ["ordering_cart_requests:show", "ordering_request_attachments:*"];
  const found = (state: OrderState, changes: Partial<typeof account> = {}, type: "order" | "request" = "request") => {
    const parent = {
      type,
      id: "1",
      state,
      attachment_count: 0,
      forwardable: true,
      account: { ...account, ...changes },
    };
    return { parentId: pathIdOf("1"), parent };
  };
  const admit = (...[loaded, caller]: [ReturnType<typeof found>, ReturnType<typeof callerFrom>]) =>
    outcomeOf(() => attachmentParent.admit(loaded, caller, listRequestAttachmentsRoute, now));

  it("are checked for the parent, the feature, then both permissions", () => {
    const off = { features: { ordering_attachment_access: false } };
    const disabled = `access_denied.ordering_attachment_access {"account":{"id":"own","type":"account"}}`;
    const absent = { ...found("CART"), parent: undefined };
    const admitted = (caller: ReturnType<typeof callerFrom>) =>
      outcomeOf(() => attachmentParent.admit(absent, caller, listRequestAttachmentsRoute, now));
    expect(admitted(callerFrom("own", ...all))).toBe(missing("request", "1"));
    expect(admit(found("CART", off), callerFrom("sibling"))).toBe(missing("request", "1"));
    expect(admit(found("CART", off), callerFrom("own"))).toBe(disabled);
    expect(admit(found("CART"), callerFrom("own"))).toBe(lacks("ordering_cart_requests:show"));
    expect(admit(found("CART"), callerFrom("own", ...all.slice(0, 1)))).toBe(
      lacks("ordering_request_attachments:index"),
    );
    expect(admit(found("CART"), callerFrom("own", ...all.slice(1)))).toBe(lacks("ordering_cart_requests:show"));
    expect(admit(found("CHECKED_OUT"), callerFrom("own", ...all))).toBe(lacks("ordering_requests:show"));
    const { parent } = found("CART");
    expect(admit(found("CART"), callerFrom("root", ...all))).toEqual({ parent, owner: "own" });
    const order = (state: OrderState, ...permissions: readonly string[]) =>
      outcomeOf(() =>
        attachmentParent.admit(
          found(state, {}, "order"),
          callerFrom("own", ...permissions),
          listOrderAttachmentsRoute,
          now,
        ),
      );
    expect(order("CART")).toBe(lacks("ordering_carts:show"));
    expect(order("CHECKED_OUT")).toBe(lacks("ordering_orders:show"));
    expect(order("CHECKED_OUT", "ordering_orders:show")).toBe(lacks("ordering_order_attachments:index"));
  });

  const at = now.toISOString();
  const stored = {
    ...minimalMetadata("LOA"),
    id: "2",
    filename: "loa.pdf",
    content_type: "application/pdf",
    detected_type: null,
    encrypted: null,
    bytes: 15,
    sha256: "0".repeat(64),
    version: 1,
    inserted_at: at,
    updated_at: at,
  };
  const item = { pk: "REQUEST#1", sk: "ATTACHMENT#2", ...stored };

  it("one by one are not found after the parent is", () => {
    const loaded = { ...found("CART"), itemId: pathIdOf("2") };
    const show = (one: typeof item | undefined, ...permissions: readonly string[]) =>
      outcomeOf(() =>
        oneAttachment.admit(
          { ...loaded, items: [one] },
          callerFrom("own", ...permissions),
          showRequestAttachmentRoute,
          now,
        ),
      );
    expect(show(undefined)).toBe(lacks("ordering_cart_requests:show"));
    expect(show(undefined, ...all)).toBe(missing("request_attachment", "2"));
    expect(show(item, ...all)).toMatchObject({ owner: "own", current: { id: "2", name: "LOA" } });
    const remove = (...items: readonly (typeof item | undefined)[]) =>
      outcomeOf(() =>
        deletableAttachment.admit({ ...loaded, items }, callerFrom("own", ...all), deleteRequestAttachmentRoute, now),
      );
    expect(remove(undefined, undefined)).toBe(missing("request_attachment", "2"));
    expect(remove(item, undefined)).toMatchObject({ owner: "own", current: { id: "2", unfinished: false } });
    expect(remove(undefined, item)).toMatchObject({ current: { id: "2", unfinished: true } });
    expect(remove(item, { ...item, name: "Older" })).toMatchObject({ current: { name: "LOA", unfinished: false } });
  });

  it.each([
    ["open", 3_600_000 - 1, true],
    ["open", 3_600_000, false],
    ["claimed", 3_600_000, true],
  ])("from an upload that is %s after %i ms: %s", (state, age, admitted) => {
    const inserted_at = new Date(now.getTime() - age).toISOString();
    const upload = { ...{ id: "3", filename: "a", content_type: "a/b", bytes: 1, sha256: "0" }, inserted_at, state };
    const loaded = { ...found("CART"), itemId: pathIdOf("3"), items: [upload] };
    const admit = (one: object) =>
      outcomeOf(() =>
        uploadOfParent.admit({ ...loaded, ...one }, callerFrom("own", ...all), completeRequestUploadRoute, now),
      );
    expect(admit({})).toEqual(admitted ? expect.objectContaining({ owner: "own", upload }) : missing("upload", "3"));
    expect(admit({ items: [] })).toBe(missing("upload", "3"));
  });

  it("are loaded by the ids in the path", async () => {
    const order = { id: crypto.randomUUID(), account: account.id, state: "CART", attachment_count: 0 };
    const parent = { type: "order", id: order.id } as const;
    const file = { filename: "a", content_type: "a/b", bytes: 1, sha256: "0" };
    const upload = { id: "3", ...file, inserted_at: at, state: "open" };
    await transact({
      account: { put: { ...keys.account(account.id), ...account } },
      order: { put: { ...keys.order(order.id), ...order, attachments_version: 0 } },
      upload: { put: { ...keys.upload(parent, "3"), ...upload } },
      attachment: { put: { ...keys.attachment(parent, "2"), ...stored } },
      unfinished: { put: { ...keys.unfinishedDelete(parent, "2"), ...stored, name: "Unfinished" } },
    });
    const ids: Record<string, string> = { order_id: order.id, upload_id: "3", attachment_id: "2" };
    const lookup: Lookup = { pathId: (name) => pathIdOf(ids[name] ?? "0"), apiKey: Promise.resolve(undefined) };
    expect(await uploadOfParent.load(lookup, completeOrderUploadRoute)).toMatchObject({
      parentId: pathIdOf(order.id),
      itemId: pathIdOf("3"),
      items: [upload],
      parent: { type: "order", id: order.id, state: "CART", forwardable: true, account },
    });
    const one = { parentId: pathIdOf(order.id), itemId: pathIdOf("2"), parent: { id: order.id } };
    expect(await oneAttachment.load(lookup, showOrderAttachmentRoute)).toMatchObject({ ...one, items: [stored] });
    expect(await deletableAttachment.load(lookup, deleteOrderAttachmentRoute)).toMatchObject({
      ...{ ...one, items: [stored, { ...stored, name: "Unfinished" }] },
    });
    const absent: Lookup = { ...lookup, pathId: () => pathIdOf("0") };
    expect(await attachmentParent.load(absent, listRequestAttachmentsRoute)).toMatchObject({ parent: undefined });
    expect(await attachmentParent.load(absent, listOrderAttachmentsRoute)).toMatchObject({ parent: undefined });
    const { parent: ofOrder } = found("CART", {}, "order");
    const document = { type: "order_attachment", data: expect.objectContaining({ id: "2" }) };
    expect(attachmentDocument(ofOrder, stored)).toStrictEqual(document);
  });

  describe("whose write fails", () => {
    const parent = found("CART").parent;
    const bytes = Buffer.from("%PDF");
    const sha256 = "3b6cbdb7a0c9a9a7f7b3b1b5d3c8a2a1c1e1d1f1b1a1c1d1e1f1a1b1c1d1e1f1";
    const file = { content: new Uint8Array(bytes), sha256, filename: "a.pdf", contentType: "application/pdf" };
    const origin = { now, actor: { type: "api_key", id: "1", user: "1" }, request_id: "1" } as const;
    /** Calls of S3 that end a moment later, as they are recorded. */
    const slowS3 = (fails: (name: string) => boolean) => {
      const ended: string[] = [];
      const send = vi.spyOn(S3Client.prototype, "send").mockImplementation(async (command) => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        ended.push(command.constructor.name);
        if (fails(command.constructor.name)) throw Object.assign(new Error("injected"), { name: "SlowDown" });
        return {};
      });
      onTestFinished(() => send.mockRestore());
      return ended;
    };

    it("have lost their file when the caller gets the error", async () => {
      const ended = slowS3(() => false);
      const missing = { ...parent, id: crypto.randomUUID() };
      const work = createAttachment(missing, { ...minimalMetadata("LOA"), file }, origin, undefined);
      await expect(work).rejects.toMatchObject({ status: 404 });
      expect(ended).toEqual(["PutObjectCommand", "DeleteObjectCommand"]);
    });

    it("are stored as an unfinished delete when the caller gets the error", async () => {
      slowS3(() => true);
      const [id, attachment] = [crypto.randomUUID(), { ...stored, id: newId() }];
      const request = { id, account: "own", order: "1", type: "any", attachment_count: 1, attachments_version: 1 };
      const own = { ...parent, id };
      await transact({
        request: { put: { ...keys.request(id), ...request } },
        attachment: { put: { ...keys.attachment(own, attachment.id), ...attachment } },
      });
      let written = 0;
      const [table, send] = [dynamodb(), dynamodb().send.bind(dynamodb())];
      const spy = vi.spyOn(table, "send").mockImplementation(async (command: Parameters<typeof send>[0]) => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        const response = await send(command);
        written += 1;
        return response;
      });
      onTestFinished(() => spy.mockRestore());
      const work = deleteAttachment(own, { ...attachment, unfinished: false }, origin, () => undefined);
      await expect(work).rejects.toMatchObject({ status: 503 });
      expect(written).toBe(2);
      slowS3(() => false);
      const finish = () => deleteAttachment(own, { ...attachment, unfinished: true }, origin, () => undefined);
      expect(await finish()).toEqual(attachment);
      expect(written).toBe(3);
      await expect(finish()).rejects.toMatchObject({ status: 404 });
    });
  });
});

describe("switches", () => {
  const all = "messaging_switches:*";
  const created = { account: { ...account, ancestors: ["root"] } };
  const lookup = (id: string, caller = apiKey): Lookup => ({
    pathId: (name) => pathIdOf(name === "account_id" || name === "id" ? id : "0"),
    apiKey: Promise.resolve(caller),
  });
  const id = `account-${crypto.randomUUID()}`;
  beforeAll(async () => {
    const counted = { ...account, id, switch_count: 1 };
    await transact({
      account: { put: { ...keys.account(id), ...counted } },
      count: { put: { ...keys.switchCount(id, "A"), switch_count: 2 } },
      other: { put: { ...keys.switchCount(`${id}x`, "A"), switch_count: 2 } },
    });
  });

  it("of the own account need the permission", () => {
    const admit = (loaded: Partial<typeof created>, ...permissions: readonly string[]) => {
      const found = { accountId: undefined, account: loaded.account };
      return outcomeOf(() => accountOfSwitches.admit(found, callerFrom("own", ...permissions), listSwitchesRoute, now));
    };
    expect(admit({})).toBe("unauthorized {}");
    expect(admit(created)).toBe(lacks("messaging_switches:index"));
    expect(admit(created, all)).toEqual({ ...created, owner: "own" });
  });

  it("of the account in the path are not found before the permission is checked", () => {
    const admit = (loaded: Partial<typeof created>, ...permissions: readonly string[]) => {
      const found = { accountId: pathIdOf("1"), account: loaded.account };
      const caller = callerFrom("own", ...permissions);
      return outcomeOf(() => accountOfSwitches.admit(found, caller, listSwitchesUnderAccountRoute, now));
    };
    expect(admit({})).toBe(missing("account", "1"));
    expect(admit(created)).toBe(lacks("messaging_switches:index"));
    expect(admit(created, all)).toEqual({ ...created, owner: "own" });
  });

  it("have their account, with its exact count for a list only", async () => {
    const own = { ...apiKey, account: id };
    const counted = (switch_count: number) => ({ account: { id, switch_count } });
    expect(await accountOfSwitches.load(lookup("0", own), listSwitchesRoute)).toMatchObject(counted(3));
    expect(await accountOfSwitches.load(lookup("0", own), createSwitchRoute)).toMatchObject(counted(1));
    const none = { ...lookup("0"), apiKey: Promise.resolve(undefined) };
    expect(await accountOfSwitches.load(none, listSwitchesRoute)).toEqual({ account: undefined });
    const load = (
      from: string | undefined,
      route: typeof listSwitchesUnderAccountRoute | typeof createSwitchUnderAccountRoute,
    ) =>
      accountOfSwitches.load(
        { ...lookup(id), apiKey: Promise.resolve(from === undefined ? from : { ...apiKey, account: from }) },
        route,
      );
    const accountId = pathIdOf(id);
    expect(await load(id, listSwitchesUnderAccountRoute)).toMatchObject({ accountId, account: { switch_count: 3 } });
    expect(await load("root", createSwitchUnderAccountRoute)).toMatchObject({
      accountId,
      account: { switch_count: 1 },
    });
    expect(await load("sibling", listSwitchesUnderAccountRoute)).toEqual({ accountId, account: undefined });
    expect(await load(undefined, listSwitchesUnderAccountRoute)).toEqual({ accountId, account: undefined });
    const absent = { ...lookup("absent"), apiKey: Promise.resolve(apiKey) };
    expect(await accountOfSwitches.load(absent, listSwitchesUnderAccountRoute)).toMatchObject({ account: undefined });
  });

  it("one by one need the permission before they are found", async () => {
    const times = { inserted_at: now.toISOString(), updated_at: now.toISOString() };
    const settings = z.parse(NewSwitch, { name: "Switch" });
    const found = { id: "1", ...settings, ...times, account: "own", ancestors: ["root"], version: 1 };
    const admit = (one: typeof found | undefined, from: string, ...permissions: readonly string[]) =>
      outcomeOf(() =>
        oneSwitch.admit(
          { switchId: pathIdOf("1"), found: one },
          callerFrom(from, ...permissions),
          showSwitchRoute,
          now,
        ),
      );
    expect(admit(undefined, "own")).toBe(lacks("messaging_switches:show"));
    expect(admit(undefined, "own", all)).toBe(missing("switch", "1"));
    expect(admit(found, "sibling", all)).toBe(missing("switch", "1"));
    expect(admit(found, "root", all)).toEqual({ current: found, owner: "own" });
    const switchId = crypto.randomUUID();
    await transact({ one: { put: { ...keys.switch(switchId), ...found, id: switchId } } });
    expect(await oneSwitch.load(lookup(switchId), showSwitchRoute)).toMatchObject({ found: { id: switchId } });
  });
});

describe("a caller", () => {
  const secret = `apik_${"x".repeat(43)}`;
  afterEach(() => void vi.useRealTimers());

  /** The log lines of a call. */
  const logged = async (work: () => Promise<unknown>): Promise<Record<string, unknown>[]> => {
    const { written, stop } = captureLogs();
    await work().finally(stop);
    return written.map((line) => JSON.parse(line));
  };

  const store = (changes: object, userChanges: object = {}, secretOf = secret) =>
    transact({
      key: { put: { ...keys.apiKey(hashApiKey(secretOf)), ...apiKey, ...changes } },
      user: { put: { ...keys.user("user"), ...user(), ...userChanges } },
    });
  const readsNothing = { from: "nothing", schema: z.undefined() } as const;
  const readsQuery = { from: "query", schema: z.object({ n: z.optional(z.string()) }) } as const;
  const admits = {
    load: async ({ pathId, apiKey: key }: Lookup) => `${pathId("id").id} for ${(await key)?.id}`,
    admit: (loaded: string) => ({ owner: "owner", loaded }),
  };
  const refuses = {
    load: async () => "loaded",
    admit: () => {
      throw notFound("switch", "1");
    },
  };
  const bearer = (value = `Bearer ${secret}`) => ({ headers: { authorization: value } });
  const invoke = async (
    handler: (event: GatewayEvent, context: Context) => Promise<{ statusCode: number; body: string }>,
    event = eventOf(showSwitchRoute, bearer()),
    ms = 29_000,
  ) => handler(event, z.parse(z.custom<Context>(), lambdaContext(ms)));
  const plain = endpoint({ ...showSwitchRoute, reads: readsNothing }, admits, ({ loaded, origin }) => ({
    body: { loaded, origin },
    logged: { extra: 1 },
  }));

  it.each<[string, object, object, number]>([
    ["that is valid", {}, {}, 200],
    ["whose key is revoked", { revoked: true }, {}, 401],
    ["whose user is disabled", {}, { disabled: true }, 401],
    ["whose user is missing", { user: "missing" }, {}, 401],
    ["whose key has no user", { user: null }, {}, 401],
    ["whose key expires now", { expires_at: now.toISOString() }, {}, 401],
    ["whose key expires in a millisecond", { expires_at: new Date(now.getTime() + 1).toISOString() }, {}, 200],
  ])("%s", async (_, key, userChanges, status) => {
    await store(key, userChanges);
    vi.useFakeTimers({ toFake: ["Date"], now });
    expect((await invoke(plain)).statusCode).toBe(status);
  });

  it.each([
    [`bearer   ${secret}`, 200],
    [`Bearer ${secret}x`, 401],
    [`Bearer ${secret.slice(1)}`, 401],
    [`xBearer ${secret}`, 401],
    [`Bearer${secret}`, 401],
    [`Bearer apik_${"y".repeat(43)}`, 401],
    ["", 401],
  ])("with the header %s", async (value, status) => {
    await store({});
    expect((await invoke(plain, eventOf(showSwitchRoute, bearer(value)))).statusCode).toBe(status);
  });

  it("is in the log line and in the origin of changes", async () => {
    await store({});
    vi.useFakeTimers({ toFake: ["Date"], now });
    const event = eventOf(showSwitchRoute, { ...bearer(), ids: { id: "01ARZ3NDEKTSV4RRFFQ69G5FAV", other: "x" } });
    const { requestId: request_id, extendedRequestId: extended_request_id, requestTimeEpoch } = event.requestContext;
    const lines = await logged(async () => {
      const { body } = await invoke(plain, event);
      const origin = { now: now.toISOString(), actor: { type: "api_key", id: "key", user: "user" }, request_id };
      expect(JSON.parse(body)).toEqual({ loaded: "01ARZ3NDEKTSV4RRFFQ69G5FAV for key", origin });
    });
    const who = { key_id: "key", account_id: "own", user_id: "user", owner_account_id: "owner", extra: 1 };
    const path = { id: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
    const what = { level: "INFO", route: showSwitchRoute.name, status: 200, path, request_id, extended_request_id };
    expect(lines).toMatchObject([{ ...what, ...who, ms: now.getTime() - requestTimeEpoch }]);
  });

  it("gets a 500 for an unknown error, whose cause is in the log only", async () => {
    await store({});
    const route = { ...showSwitchRoute, reads: readsNothing };
    const broken = endpoint(route, admits, () => {
      throw new Error("the cause");
    });
    const [line] = await logged(async () => {
      const { statusCode, body } = await invoke(broken);
      expect([statusCode, body.includes("the cause")]).toEqual([500, false]);
    });
    expect(line).toMatchObject({ level: "ERROR", status: 500, error: { message: "the cause" } });
    const [refused] = await logged(() => invoke(endpoint(route, refuses, () => ({ body: {} }))));
    expect(refused).toMatchObject({ level: "INFO", status: 404, key_id: "key" });
    expect(refused).not.toHaveProperty("owner_account_id");
  });

  it("gets the error of the access check before that of the query of a list", async () => {
    await store({});
    const list = (access: typeof admits | typeof refuses, fails: boolean) =>
      listEndpoint(
        { ...showSwitchRoute, reads: readsQuery },
        access,
        async (_, query) => {
          if (fails) throw new ApiError("rate_limited", []);
          return query;
        },
        ({ page, query, owner }) => ({ body: { page, query, owner } }),
      );
    const event = () => eventOf(showSwitchRoute, { ...bearer(), query: { n: "1" } });
    expect((await invoke(list(refuses, true), event())).statusCode).toBe(404);
    expect((await invoke(list(admits, true), event())).statusCode).toBe(429);
    const { statusCode, body } = await invoke(list(admits, false), event());
    expect([statusCode, JSON.parse(body)]).toEqual([200, { page: { n: "1" }, query: { n: "1" }, owner: "owner" }]);
  });

  it("gets a 503 where the deadline has passed", async () => {
    await store({});
    expect((await invoke(plain, undefined, 6_000)).statusCode).toBe(503);
    expect((await invoke(plain, undefined, 29_000)).statusCode).toBe(200);
  });

  it("gets an ETag for a GET, and no 304 for another method", async () => {
    await store({});
    const reply = () => ({ body: { a: 1 }, headers: { ETag: '"1"' } });
    const conditional = { headers: { ...bearer().headers, "if-none-match": '"1"' } };
    const show = endpoint({ ...showSwitchRoute, reads: readsNothing }, admits, reply);
    expect((await invoke(show, eventOf(showSwitchRoute, conditional))).statusCode).toBe(304);
    const post = endpoint({ ...createSwitchRoute, reads: readsNothing }, admits, reply);
    expect((await invoke(post, eventOf(createSwitchRoute, conditional))).statusCode).toBe(201);
  });
});
