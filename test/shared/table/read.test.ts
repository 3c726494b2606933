import { expect, it } from "vitest";
import { getMany } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";

it("many items are read in the order of their keys, although BatchGetItem takes 100", async () => {
  const pk = `TEST#${crypto.randomUUID()}`;
  const stored = Array.from({ length: 130 }, (_, index) => ({ pk, sk: String(index) }));
  for (const half of [stored.slice(0, 65), stored.slice(65)])
    await transact(Object.fromEntries(half.map((item) => [item.sk, { put: item }])));
  const keys = [...stored, { pk, sk: "missing" }].toReversed();
  expect(await getMany(keys)).toEqual([undefined, ...stored.toReversed()]);
});
