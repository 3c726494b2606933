import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { repeatedNames } from "../../../shared/schema/check.ts";
import { anyCharacter } from "../../support/fixtures/hostile-texts.ts";
import { byExtent } from "../../support/setup/extent.ts";

const pointersOf = (json: string) => repeatedNames(json).map(({ pointer }) => pointer);

describe("a name that an object has twice", () => {
  it.each([
    ['{"a": 1, "a": 1}', ["/a"]],
    [
      '{"type":"switch","type":"switch","data":{"name":"a","b":{"c":1},"name":"b","name":"c"}}',
      ["/type", "/data/name"],
    ],
    ['{"data":{"unknown":{"a":[{"b":1},[{"b":1,"c":2,"b":[]}]]}}}', ["/data/unknown/a/1/0/b"]],
    ['[{"a":{"b":1},"a":{"b":1,"b":2}}]', ["/0/a", "/0/a/b"]],
    ['{"data":{"name":1},"data":{"name":2}}', ["/data"]],
    ['{"a":1,"\\u0061":2}', ["/a"]],
    ['{"\\/":1,"/":2,"~":1,"\\u007e":2}', ["/~1", "/~0"]],
    ['{"\\ud83d\\udcc4":1,"📄":2}', ["/📄"]],
    ['{"\\u00E9":1,"\\u00e9" \r\n:2}', ["/é"]],
    ['{"__proto__":1,"__proto__":2,"constructor":1,"constructor":2}', ["/__proto__", "/constructor"]],
    ['{"":1,"":2}', ["/"]],
    ['{"0":1,"0":2,"\\"":1,"\\"":2,"\\\\":1,"\\\\":2}', ["/0", '/"', "/\\"]],
    ['{"a": "b", "b": "{\\"c\\": 1, \\"c\\": 2}", "c" : ["c", "c:", "c", ":", ",", "]"], "d": {}}', []],
    ['{"a":1,"A":1," a":1,"a ":1,"á":1,"a\u0301":1}', []],
    ['[{"a":1},{"a":1}]', []],
    ['{"a":{"a":{"a":[]}},"b":{"a":1}}', []],
    ['"a"', []],
    ["null", []],
  ])("is reported once, with its pointer: %s", (json, pointers) => {
    JSON.parse(json);
    expect(pointersOf(json)).toEqual(pointers);
  });

  it("is not found in what JSON.stringify writes", async () => {
    const isUnique = (value: unknown, spaces: number) => {
      expect(pointersOf(JSON.stringify(value, null, spaces))).toEqual([]);
    };
    const numRuns = byExtent({ sample: 200, most: 2_000, all: 20_000 });
    await fc.assert(fc.property(fc.jsonValue(), fc.nat({ max: 3 }), isUnique), { numRuns });
  });

  it("is found wherever it is", async () => {
    const isFound = (before: unknown, name: string, after: unknown, first: unknown, second: unknown) => {
      const [key, ...values] = [name, first, second].map((value) => JSON.stringify(value));
      const object = `{${key}:${values[0]},"${name.length}_":${JSON.stringify(before)},${key}:${values[1]}}`;
      const pointer = `/1/x/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      expect(pointersOf(`[${JSON.stringify(before)},{"x":${object}},${JSON.stringify(after)}]`)).toEqual([pointer]);
    };
    const numRuns = byExtent({ sample: 200, most: 2_000, all: 20_000 });
    const [value, name] = [fc.jsonValue(), fc.string({ unit: anyCharacter })];
    await fc.assert(fc.property(value, name, value, value, value, isFound), { numRuns });
  });

  it("is found without recursion, and its pointers fit into a response", () => {
    const depth = 100_000;
    const deep = `${'{"a":1,"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    const found = pointersOf(deep);
    expect(found[0]).toBe("/a");
    expect(found.join("").length).toBeLessThan(20_000);
    const wide = `{${Array.from({ length: depth }, (_, n) => `"n${n}":1,"n${n}":2`).join()}}`;
    expect(pointersOf(wide).join("").length).toBeLessThan(11_000);
    const long = "\\u0061".repeat(500_000);
    expect(pointersOf(`{"${long}":1,"${"a".repeat(500_000)}":2}`)).toEqual([`/${"a".repeat(500_000)}`]);
    for (const text of ["x".repeat(1e6), '\\"'.repeat(5e5), "\\\\".repeat(5e5), "[".repeat(1e6)])
      expect(pointersOf(`["${text}"]`)).toEqual([]);
  });
});
