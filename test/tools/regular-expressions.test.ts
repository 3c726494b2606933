import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pLimit from "p-limit";
import { check } from "recheck";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { exhaustive } from "../support/setup/extent.ts";

/** Every regular expression takes time in proportion to its input. recheck finds those that can backtrack for longer. */

const root = join(import.meta.dirname, "../..");

/** The regular expressions in a source. `new RegExp` stands for those built at run time. */
const expressionsIn = (source: string): string[] => {
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isRegularExpressionLiteral(node)) found.push(node.text);
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "RegExp")
      found.push("new RegExp");
    node.forEachChild(visit);
  };
  visit(ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true));
  return found;
};

const files = globSync("{functions,shared,infra/admin,infra/local}/**/*.ts", { cwd: root });
const inFile = files.map((file) => ({ file, found: expressionsIn(readFileSync(join(root, file), "utf8")) }));

const limited = pLimit(2);
const problemOf = async (expression: string) => {
  const end = expression.lastIndexOf("/");
  const result = await limited(() => check(expression.slice(1, end), expression.slice(end + 1), { timeout: 60_000 }));
  return result.status === "safe" ? [] : [`${expression}: ${result.status}`];
};

/** recheck takes seconds of processor time. */

describe("the regular expressions", () => {
  it.runIf(exhaustive)("do not backtrack beyond linear time", { timeout: 300_000 }, async () => {
    const expressions = new Set(inFile.flatMap(({ found }) => found.filter((one) => one !== "new RegExp")));
    expect(expressions.size).toBeGreaterThan(50);
    expect((await Promise.all([...expressions].map(problemOf))).flat()).toEqual([]);
  });

  it.runIf(exhaustive)("are checked: one that backtracks is found", async () => {
    const [planted = ""] = expressionsIn("const found = /;\\s*filename=(.*);\\s*x$/.exec(text);");
    expect(await problemOf(planted)).toEqual([expect.stringContaining("vulnerable")]);
  });

  it("are built only from the routes, the limits, control characters, the token and the patterns of injected faults", () => {
    const built = inFile.filter(({ found }) => found.includes("new RegExp")).map(({ file }) => file);
    expect(built.sort()).toEqual([
      "infra/local/carrier-faults.ts",
      "infra/local/match.ts",
      "shared/attachments/attachment-schema.ts",
      "shared/checkout/carrier-token.ts",
      "shared/http/idempotency.ts",
      "shared/schema/fields.ts",
    ]);
  });
});
