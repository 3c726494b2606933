import { TransactionCanceledException, TransactionInProgressException } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { withDeadline } from "../../../shared/deadline.ts";
import { ApiError } from "../../../shared/errors.ts";
import { backOff, dynamodb } from "../../../shared/table/client.ts";
import { hashApiKey, keys } from "../../../shared/table/keys.ts";
import { nextVersion, optimisticWrite } from "../../../shared/table/optimistic-update.ts";
import { type PageRequest, pageRequest, readPage, truncatePage } from "../../../shared/table/pages.ts";
import { parseItem, parseReadable, query, queryAll, readItem } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";

/** Decisions of the table's functions about keys, conditions, pages and retries. */

beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

describe("a key", () => {
  it("of an API key has its SHA-256", () => {
    expect(hashApiKey("secret")).toBe("2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b");
  });

  const [order, request] = [{ type: "order", id: "1" } as const, { type: "request", id: "2" } as const];
  const cases: [keyof typeof keys, { readonly pk: string; readonly sk: string }, string][] = [
    ["apiKey", keys.apiKey("hash"), "KEY#hash KEY"],
    ["apiKeyId", keys.apiKeyId("1"), "KEY_ID#1 KEY_ID#1"],
    ["user", keys.user("1"), "USER#1 USER"],
    ["account", keys.account("1"), "ACCOUNT#1 ACCOUNT"],
    ["switchCount", keys.switchCount("1", "ABC"), "ACCOUNT#1 ACCOUNT#SWITCH_COUNT#C"],
    ["erasing", keys.erasing("1", "2"), "ACCOUNT#1 ACCOUNT#ERASING#2"],
    ["childAccount", keys.childAccount("1", "2"), "ACCOUNT#1 CHILD#2"],
    ["childAccount", keys.childAccount(null, "2"), "ROOT_ACCOUNTS CHILD#2"],
    ["accountUser", keys.accountUser("1", "2"), "ACCOUNT#1 USER#2"],
    ["accountKey", keys.accountKey("1", "2"), "ACCOUNT#1 KEY#2"],
    ["accountOrder", keys.accountOrder("1", "2"), "ACCOUNT_ORDERS#1 ORDER#2"],
    ["order", keys.order("1"), "ORDER#1 ORDER#1"],
    ["request", keys.request("2"), "REQUEST#2 REQUEST#2"],
    ["parent", keys.parent(request), "REQUEST#2 REQUEST#2"],
    ["orderRequest", keys.orderRequest("1", "2"), "ORDER#1 REQUEST#2"],
    ["attachment", keys.attachment(order, "3"), "ORDER#1 ATTACHMENT#3"],
    ["upload", keys.upload(request, "3"), "REQUEST#2 UPLOAD#3"],
    ["reference", keys.reference(order, "3"), "ORDER#1 REFERENCE#3"],
    ["idempotency", keys.idempotency("1", "2"), "IDEMPOTENCY#1 USED#2"],
    ["checkout", keys.checkout("1"), "ORDER#1 CHECKOUT"],
    ["lateChange", keys.lateChange("1", "2"), "LATE_CHANGES ORDER#1#2"],
    ["openCheckout", keys.openCheckout("1"), "OPEN_CHECKOUTS ORDER#1"],
    ["receipt", keys.receipt("1", "2"), "REQUEST#1 RECEIPT#2"],
    ["switch", keys.switch("1"), "SWITCH#1 SWITCH"],
    ["switchOwner", keys.switchOwner("1"), "SWITCH#1 OWNER"],
    ["switchName", keys.switchName("1", "2"), "ACCOUNT#1 SWITCH_NAME#2"],
    ["switchEntry", keys.switchEntry("1", "2"), "ACCOUNT#1 SWITCH#2"],
    ["unfinishedDelete", keys.unfinishedDelete(order, "2"), "ORDER#1 UNFINISHED_DELETE#2"],
    ["event", keys.event({ type: "api_key", id: "1" }, "2"), "KEY_ID#1 EVENT#2"],
    ["event", keys.event({ type: "switch", id: "1" }, "2"), "SWITCH#1 EVENT#2"],
    ["download", keys.download({ type: "order", id: "1" }, "2"), "DOWNLOADS#ORDER#1 EVENT#2"],
    ["deleted", keys.deleted("1"), "DELETED#1 DELETED#1"],
    ["deletedAttachment", keys.deletedAttachment("1"), "DELETED_ATTACHMENTS DELETED#1"],
    ["sweep", keys.sweep(), "SWEEP SWEEP"],
    ["doctor", keys.doctor(), "DOCTOR DOCTOR"],
  ];

  it.each(cases)("of %s is as stored: %j", (_, { pk, sk }, stored) => {
    expect(`${pk} ${sk}`).toBe(stored);
  });

  it("is tested above, as it never changes", () => {
    const tested = new Set<string>(cases.map(([name]) => name));
    const missing = Object.keys(keys).filter((name) => !tested.has(name));
    expect(missing, "add these keys as they are stored to the cases above").toEqual([]);
  });
});

describe("a transaction", () => {
  const pk = `TEST#${crypto.randomUUID()}`;
  const put = (sk: string, more = {}) => ({ put: { pk, sk, ...more }, when: { exists: false } });
  const cancelled = (...codes: readonly (string | undefined)[]) =>
    new TransactionCanceledException({
      message: "injected",
      $metadata: {},
      CancellationReasons: codes.map((Code) => ({ ...(Code !== undefined && { Code }) })),
    });
  const failing = (...errors: readonly Error[]) => {
    const send = vi.spyOn(dynamodb(), "send");
    for (const error of errors) send.mockImplementationOnce(() => Promise.reject(error));
    return send;
  };

  it("returns the stored items of the conditions that failed, and writes nothing", async () => {
    expect(await transact({ first: put("1", { n: 1 }) })).toBe(undefined);
    const unmet = await transact({ again: put("1"), none: undefined, other: put("2") });
    expect([...(unmet ?? [])]).toEqual([["again", { pk, sk: "1", n: 1 }]]);
    expect(unmet?.isSettled).toBe(true);
    const absent = await transact({ gone: { delete: { pk, sk: "2" }, when: { exists: true } } });
    expect([...(absent ?? [])]).toEqual([["gone", undefined]]);
  });

  it("writes, updates and deletes", async () => {
    await transact({ a: put("a", { n: 1, m: 1 }), b: put("b") });
    const update = { update: { pk, sk: "a" }, set: { n: 2 }, add: { k: 5 }, remove: ["m"], when: { exists: true } };
    await transact({ a: update, b: { delete: { pk, sk: "b" } } });
    const schema = z.looseObject({});
    expect(await readItem(schema, { pk, sk: "a" })).toEqual({ pk, sk: "a", n: 2, k: 5 });
    expect(await readItem(schema, { pk, sk: "b" })).toBe(undefined);
  });

  it.each(["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])(
    "is repeated with the same token after %s",
    async (code) => {
      const send = failing(cancelled("None", code));
      expect(await transact({ one: put(`after ${code}`) })).toBe(undefined);
      const tokens = send.mock.calls.map(([{ input }]) => "ClientRequestToken" in input && input.ClientRequestToken);
      expect([tokens.length, new Set(tokens).size]).toEqual([2, 1]);
    },
  );

  it("is repeated while an earlier attempt is in progress", async () => {
    failing(new TransactionInProgressException({ message: "injected", $metadata: {} }));
    expect(await transact({ one: put("after progress") })).toBe(undefined);
  });

  it("has failed if one condition has, although another write met a conflict", async () => {
    failing(cancelled("TransactionConflict", "ConditionalCheckFailed"));
    expect([...((await transact({ one: put("3"), two: put("4") }))?.keys() ?? [])]).toEqual(["two"]);
  });

  it.each([
    ["a reason that no retry mends", cancelled("ValidationError"), {}],
    ["no reason", cancelled(undefined), {}],
    ["an unavailable table", Object.assign(new Error(), { name: "ThrottlingException" }), { status: 503 }],
    ["an unknown error", new Error("unknown"), { message: "unknown" }],
  ])("throws %s", async (_, error, thrown) => {
    failing(error);
    await expect(transact({ one: put("never") })).rejects.toMatchObject(thrown);
  });

  it("is not settled after an attempt that may have had no response", async () => {
    const late = cancelled("ConditionalCheckFailed");
    late.$metadata.attempts = 2;
    failing(late);
    expect((await transact({ one: put("5") }))?.isSettled).toBe(false);
    const conflict = cancelled("TransactionConflict");
    conflict.$metadata.attempts = 2;
    failing(conflict, cancelled("ConditionalCheckFailed"));
    expect((await transact({ one: put("6") }))?.isSettled).toBe(false);
  });
});

describe("the wait before another attempt", () => {
  it("ends after twelve, with the last reason", async () => {
    await backOff(12, new Error("the last"));
    const error = { status: 503, cause: { message: "Gave up.", attempts: 13, cause: { message: "the last" } } };
    await expect(backOff(13, new Error("the last"))).rejects.toMatchObject(error);
  });

  it("ends an update that other writes precede each time", async () => {
    const current = { version: 0, updated_at: "2026-11-21T10:00:00.000Z" };
    const reread = vi.fn(async () => current);
    const outcome = optimisticWrite(
      current,
      { now: new Date() },
      () => {},
      reread,
      async () => undefined,
    );
    await expect(outcome).rejects.toMatchObject({ status: 503 });
    expect(reread).toHaveBeenCalledTimes(12);
  });

  it.each([
    [1, 0.5, 20],
    [2, 0.5, 40],
    [5, 1, 640],
    [6, 1, 1_000],
    [12, 1, 1_000],
  ])("of attempt %i with jitter %f needs more than %i ms until the deadline", async (attempt, jitter, ms) => {
    vi.mocked(Math.random).mockReturnValue(jitter);
    vi.spyOn(performance, "now").mockReturnValue(0);
    const within = (remaining: number) => withDeadline(6_000 + remaining, () => backOff(attempt, undefined));
    await expect(within(ms)).rejects.toMatchObject({ status: 503 });
    if (ms < 100) await within(ms + 1);
  });
});

describe("a page", () => {
  const ids = Array.from({ length: 5 }, (_, index) => `01ARZ3NDEKTSV4RRFFQ69G5FA${index}`);
  const list = { pk: `TEST#${crypto.randomUUID()}`, prefix: "ITEM#" };
  const Item = z.object({ id: z.string() });
  const itemOf = (id: string) => ({ pk: list.pk, sk: `${list.prefix}${id}`, id });
  beforeEach(async () => {
    const below = { put: { pk: list.pk, sk: "ITEM" } };
    const above = { put: { pk: list.pk, sk: "ITEMS#1" } };
    await transact({ ...Object.fromEntries(ids.map((id) => [id, { put: itemOf(id) }])), below, above });
  });
  const page = (request: Partial<PageRequest>) =>
    readPage(list, { limit: 2, backward: false, startAfter: undefined, ...request }, Item);
  const idOf = (cursor: string) => pageRequest(list, { after: cursor }).startAfter;
  /** The numbers of a page's items, and on which sides there are more. Each cursor must have the item at its end. */
  const shown = async (request: Partial<PageRequest>) => {
    const { items, before, after } = await page(request);
    if (before) expect(idOf(before)).toBe(items[0]?.id);
    if (after) expect(idOf(after)).toBe(items.at(-1)?.id);
    return `${before ? "< " : ""}${items.map(({ id }) => ids.indexOf(id)).join("")}${after ? " >" : ""}`;
  };

  it.each<[Partial<PageRequest>, string]>([
    [{ limit: 4 }, "0123 >"],
    [{ limit: 5 }, "01234"],
    [{ startAfter: ids[1] }, "< 23 >"],
    [{ startAfter: ids[4] }, ""],
    [{ backward: true, limit: 5 }, "01234"],
    [{ backward: true, startAfter: ids[3] }, "< 12 >"],
    [{ backward: true, startAfter: ids[0] }, ""],
    [{ backward: true, startAfter: "7" }, "< 34"],
    [{ startAfter: "0" }, "01 >"],
  ])("of the items 01234, by %j, is %s (< and >: there are more)", async (request, items) => {
    const send = vi.spyOn(dynamodb(), "send");
    expect(await shown(request)).toBe(items);
    for (const [{ input }] of send.mock.calls) expect(input).toMatchObject({ ConsistentRead: true });
  });

  const refused = (asked: Parameters<typeof pageRequest>[1]) => {
    try {
      return pageRequest(list, asked);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error.body.errors.map(
        ({ sub_code, detail, source }) => `${source?.in} ${source?.pointer} ${sub_code} ${detail}`,
      );
    }
  };
  const otherList = Buffer.from(`AAAAAAAAAAAA${ids[0]}`).toString("base64url");
  it.each([
    [{ first: 1, last: 1 }, ["/last can't be combined with first"]],
    [{ after: "x", before: "x", last: 1 }, ["last", "before"].map((name) => `/${name} can't be combined with after`)],
    [{ before: "x" }, ["/before is not a cursor of this list"]],
    [{ after: otherList }, ["/after is not a cursor of this list"]],
  ])("requested by %j is refused", (asked, problems) => {
    expect(refused(asked)).toEqual(problems.map((each) => `query ${each.replace(" ", " constraint.format ")}`));
  });

  it.each([
    [false, 30, "01234", "same"],
    [false, 29, "0123", "3 >"],
    [false, 0, "0", "0 >"],
    [true, 30, "01234", "same"],
    [true, 29, "1234", "< 1"],
  ])("that is too large (backward: %s, %i bytes) keeps %s", async (backward, maxBytes, kept, cursor) => {
    const full = await page({ limit: 5 });
    const request = { limit: 5, backward, startAfter: undefined };
    const short = truncatePage(list, request, full, () => 6, maxBytes);
    expect(short.items.map(({ id }) => ids.indexOf(id)).join("")).toBe(kept);
    const after = short.after && ids.indexOf(idOf(short.after) ?? "");
    const before = short.before && ids.indexOf(idOf(short.before) ?? "");
    const cursors = `${before === null ? "" : `< ${before}`}${after === null ? "" : `${after} >`}`;
    expect(cursors || "same").toBe(cursor);
  });

  it.each([100, 101])("of a long list is followed by the others: %i items", async (count) => {
    const long = { pk: `TEST#${crypto.randomUUID()}`, prefix: "ITEM#" };
    const all = Array.from({ length: count }, (_, index) => String(index).padStart(3, "0"));
    for (const part of [all.slice(0, 100), all.slice(100)].filter(({ length }) => length > 0))
      await transact(Object.fromEntries(part.map((id) => [id, { put: { pk: long.pk, sk: long.prefix + id } }])));
    expect((await Array.fromAsync(queryAll(long))).length).toBe(count);
    const last = all.slice(-3).toReversed();
    const found = await query(long, { limit: 3, descending: true });
    expect(found.map(({ sk }) => sk)).toEqual(last.map((id) => long.prefix + id));
  });

  it("is completed when DynamoDB returns less, and ends at its limit", async () => {
    const send = vi.spyOn(dynamodb(), "send");
    const answers = [
      { Items: [itemOf("0")], LastEvaluatedKey: { pk: "1", sk: "2" } },
      { LastEvaluatedKey: { pk: "3", sk: "4" } },
      { Items: [itemOf("1"), itemOf("2")], LastEvaluatedKey: { pk: "5", sk: "6" } },
    ];
    for (const answer of answers) send.mockImplementationOnce(async () => answer);
    expect((await query(list, { limit: 3 })).map(({ id }) => id)).toEqual(["0", "1", "2"]);
    const starts = send.mock.calls.map(([{ input }]) => ({ ...input }));
    expect(starts).toMatchObject([
      { Limit: 3, ScanIndexForward: true, ConsistentRead: true },
      { Limit: 2, ExclusiveStartKey: { pk: "1", sk: "2" } },
      { Limit: 2, ExclusiveStartKey: { pk: "3", sk: "4" } },
    ]);
    expect(starts.length).toBe(3);
  });
});

describe("an item", () => {
  it("that cannot be read is named without its values", () => {
    const Shape = z.object({ id: z.string(), nested: z.object({ n: z.number() }) });
    const broken = { pk: "1", sk: "2", id: "secret", nested: { n: "secret" } };
    expect(() => parseItem(Shape, broken)).toThrow("The item 1 2 cannot be read: nested.n invalid_type");
    expect(parseReadable(Shape, [broken, { id: "1", nested: { n: 1 } }])).toEqual([{ id: "1", nested: { n: 1 } }]);
  });

  it("has a later time in its next version", () => {
    const now = new Date("2026-11-21T10:00:00.000Z");
    for (const [updated_at, next] of [
      ["2026-11-21T09:59:59.999Z", "2026-11-21T10:00:00.000Z"],
      ["2026-11-21T10:00:00.000Z", "2026-11-21T10:00:00.001Z"],
    ] as const)
      expect(nextVersion({ version: 1, updated_at }, now)).toEqual({ updated_at: next, version: 2 });
  });
});
