import { expect, it, onTestFinished, vi } from "vitest";
import { withDeadline } from "../../../shared/deadline.ts";
import { dynamodb } from "../../../shared/table/client.ts";
import { get, getMany, scan } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { interceptTableCalls } from "../../support/fault-proxy/table-proxy.ts";

it("many items are read in the order of their keys, although BatchGetItem takes 100", async () => {
  const pk = `TEST#${crypto.randomUUID()}`;
  const stored = Array.from({ length: 130 }, (_, index) => ({ pk, sk: String(index) }));
  for (const half of [stored.slice(0, 65), stored.slice(65)])
    await transact(Object.fromEntries(half.map((item) => [item.sk, { put: item }])));
  const keys = [...stored, { pk, sk: "missing" }].toReversed();
  expect(await getMany(keys)).toEqual([undefined, ...stored.toReversed()]);
});

const key = (sk: string) => ({ pk: `TEST#${sk}`, sk });
const batchOf = (...names: string[]) => ({
  RequestItems: { [process.env.TABLE_NAME ?? ""]: { Keys: names.map(key), ConsistentRead: true } },
});

const spyOnCalls = () => {
  const send = vi.spyOn(dynamodb(), "send");
  onTestFinished(() => send.mockRestore());
  return send;
};

it("reads that a request starts in one turn are one call for each item once, and never with another request's", async () => {
  const send = spyOnCalls();
  const later = async (sk: string, promises: number) => {
    for (let passed = 0; passed < promises; passed += 1) await undefined;
    return get(key(sk));
  };
  const request = (...names: string[]) =>
    withDeadline(28_000, () => Promise.all([get(key("first")), ...names.map((sk, index) => later(sk, 4 * index))]));
  // Both requests start in one callback of the event loop, outside any promise.
  await new Promise((resolve) => setImmediate(() => resolve(Promise.all([request("a", "b", "a"), request("c", "d")]))));
  expect(send.mock.calls.map(([{ input }]) => input)).toEqual([batchOf("first", "a", "b"), batchOf("first", "c", "d")]);
});

it("a partial response is completed, and keys of a failed call fail for every reader", async () => {
  await transact({ a: { put: { ...key("a"), n: 1 } }, b: { put: { ...key("b"), n: 2 } } });
  const send = spyOnCalls();
  send.mockImplementationOnce(async () => ({ Responses: {}, UnprocessedKeys: batchOf("a", "b").RequestItems }));
  expect(await Promise.all([get(key("a")), get(key("b"))])).toMatchObject([{ n: 1 }, { n: 2 }]);
  expect(send.mock.calls.map(([{ input }]) => input)).toEqual([batchOf("a", "b"), batchOf("a", "b")]);
  send.mockRejectedValueOnce(Object.assign(new Error("slow down"), { name: "ThrottlingException", $fault: "client" }));
  const reasons = (await Promise.allSettled([get(key("a")), get(key("b"))])).map((each) => each.status);
  expect(reasons).toEqual(["rejected", "rejected"]);
});

it("keys that DynamoDB leaves out are asked for again after a wait, which the request's deadline ends with a 503", async () => {
  const send = spyOnCalls();
  const { RequestItems: UnprocessedKeys } = batchOf("a", "b");
  for (let times = 0; times < 20; times += 1)
    send.mockImplementationOnce(async () => ({ Responses: {}, UnprocessedKeys }));
  const reading = withDeadline(6_000, () => getMany([key("a"), key("b")]));
  await expect(reading).rejects.toMatchObject({ status: 503 });
  expect(send).toHaveBeenCalledOnce();
});

it("a scan of the whole table is strongly consistent, and waits longer for a page than a caller of the API would", async () => {
  const send = spyOnCalls();
  send.mockImplementationOnce(async () => ({ Items: [key("a")] }));
  expect(await Array.fromAsync(scan())).toEqual([key("a")]);
  const input = { TableName: process.env.TABLE_NAME, ConsistentRead: true };
  expect(send.mock.calls).toMatchObject([[{ input }, { requestTimeout: 30_000 }]]);
});

it("reads of thousands of items at once share ten calls, so that none waits for a connection until its timeout", async () => {
  let [running, most, calls] = [0, 0, 0];
  const stop = interceptTableCalls(async (_, pass) => {
    calls += 1;
    running += 1;
    most = Math.max(most, running);
    return pass().finally(() => {
      running -= 1;
    });
  });
  await getMany(Array.from({ length: 2_500 }, (_, index) => ({ pk: "NONE", sk: String(index) })));
  stop();
  expect([calls, most]).toEqual([25, 10]);
});
