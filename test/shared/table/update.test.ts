import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { dynamodb } from "../../../shared/table/client.ts";
import type { Write } from "../../../shared/table/expressions.ts";
import { get } from "../../../shared/table/read.ts";
import { transactOrUpdate } from "../../../shared/table/update.ts";
import { transact } from "../../../shared/table/write.ts";

/** Updates of one item without a transaction, and what they make of an attempt that had no response. */

let key: { readonly pk: string; readonly sk: string };
beforeEach(async () => {
  key = { pk: `TEST#${crypto.randomUUID()}`, sk: "1" };
  await transact({ item: { put: { ...key, n: 1 } } });
});

const set = (n: number, when = 1): { readonly item: Write } => ({
  item: { update: key, set: { n }, when: { equals: { n: when } } },
});

const spy = () => {
  const send = vi.spyOn(dynamodb(), "send");
  onTestFinished(() => send.mockRestore());
  return send;
};
const commandsOf = ({ mock }: ReturnType<typeof spy>) => mock.calls.map(([command]) => command.constructor.name);

/** Sends the first call twice, as the SDK does after an attempt without a response, with `between` between the two. */
const repeating = (between: () => Promise<unknown>, before = false) => {
  const send = dynamodb().send.bind(dynamodb());
  const calls = spy();
  calls.mockImplementationOnce(async (command: Parameters<typeof send>[0]) => {
    if (!before) await send(command);
    await between();
    return send(command);
  });
};

it("an update of one item is no transaction, and one with a second write or an addition is", async () => {
  const calls = spy();
  const other = { put: { ...key, sk: "2" } };
  expect(await transactOrUpdate({ ...set(2), none: undefined })).toBeUndefined();
  expect(await transactOrUpdate({ ...set(3, 2), other })).toBeUndefined();
  const add: Write = { update: key, add: { n: 1 }, when: { exists: true } };
  expect(await transactOrUpdate({ add })).toBeUndefined();
  expect(commandsOf(calls)).toEqual(["UpdateCommand", "TransactWriteCommand", "TransactWriteCommand"]);
  expect(await get(key)).toMatchObject({ n: 4 });
});

it("an update whose condition fails returns the stored item", async () => {
  expect([...((await transactOrUpdate(set(2, 9))) ?? [])]).toEqual([["item", { ...key, n: 1 }]]);
  const absent: Write = { update: { ...key, sk: "2" }, set: { n: 2 }, when: { exists: true } };
  expect([...((await transactOrUpdate({ absent })) ?? [])]).toEqual([["absent", undefined]]);
});

it("an update that has committed without a response succeeds", async () => {
  repeating(async () => {});
  expect(await transactOrUpdate(set(2))).toBeUndefined();
  expect(await get(key)).toMatchObject({ n: 2 });
});

it("an update that has committed without a response succeeds although a transaction has changed the item since", async () => {
  repeating(() => transact(set(3, 2)));
  expect(await transactOrUpdate(set(2))).toBeUndefined();
  expect(await get(key)).toMatchObject({ n: 3 });
});

it("an update is unmet if another one has written the same, so that not both believe that the item is theirs", async () => {
  repeating(() => transactOrUpdate(set(2)), true);
  expect((await transactOrUpdate(set(2)))?.has("item")).toBe(true);
});

it.each(["TransactionConflictException", "ThrottlingException", "ProvisionedThroughputExceededException"])(
  "an update is repeated after %s",
  async (name) => {
    const calls = spy();
    calls.mockImplementationOnce(() => Promise.reject(Object.assign(new Error("injected"), { name })));
    expect(await transactOrUpdate(set(2))).toBeUndefined();
    expect(commandsOf(calls)).toEqual(["UpdateCommand", "UpdateCommand"]);
  },
);

it.each([
  ["an unavailable table", Object.assign(new Error(), { name: "InternalServerError" }), { status: 503 }],
  ["an unknown error", new Error("unknown"), { message: "unknown" }],
])("an update throws %s", async (_, error, thrown) => {
  spy().mockImplementationOnce(() => Promise.reject(error));
  await expect(transactOrUpdate(set(2))).rejects.toMatchObject(thrown);
});
