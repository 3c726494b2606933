import { expect, it, onTestFinished, vi } from "vitest";
import { withDeadline } from "../../../shared/deadline.ts";
import { dynamodb } from "../../../shared/table/client.ts";
import { get, getMany } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";

it("many items are read in the order of their keys, although BatchGetItem takes 100", async () => {
  const pk = `TEST#${crypto.randomUUID()}`;
  const stored = Array.from({ length: 130 }, (_, index) => ({ pk, sk: String(index) }));
  for (const half of [stored.slice(0, 65), stored.slice(65)])
    await transact(Object.fromEntries(half.map((item) => [item.sk, { put: item }])));
  const keys = [...stored, { pk, sk: "missing" }].toReversed();
  expect(await getMany(keys)).toEqual([undefined, ...stored.toReversed()]);
});

it("reads that a request starts in one turn are one call for each item once, and never with another request's", async () => {
  const send = vi.spyOn(dynamodb(), "send");
  onTestFinished(() => send.mockRestore());
  const key = (sk: string) => ({ pk: `TEST#${sk}`, sk });
  const inTurn = async (sk: string) => {
    for (let turns = 0; turns < 5; turns += 1) await undefined;
    return get(key(sk));
  };
  const request = (...names: string[]) => withDeadline(28_000, () => Promise.all(names.map(inTurn)));
  await Promise.all([
    request("a", "b", "a"),
    request("c"),
    withDeadline(28_000, () => get(key("d")).then(() => get(key("e")))),
  ]);
  const Keys = [key("a"), key("b")];
  expect(send.mock.calls.map(([{ input }]) => input)).toEqual([
    expect.objectContaining({ Key: key("d") }),
    { RequestItems: { [process.env.TABLE_NAME ?? ""]: { Keys, ConsistentRead: true } } },
    expect.objectContaining({ Key: key("c") }),
    expect.objectContaining({ Key: key("e") }),
  ]);
});
