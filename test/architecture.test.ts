import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { routes } from "../shared/routes.ts";

/** The import rules of the house: who may import whom. */
const pure =
  /^shared\/(routes|errors|env|limits)\.ts$|^shared\/schema\/(fields|check|descriptions)\.ts$|^shared\/(attachments|switches|tenants|checkout)\/(schema|rules|steps|file|documents|descriptions)\.ts$|^shared\/table\/(keys|expressions|page-query|page-document)\.ts$/;
const mayTouchAnSdk = /^shared\/(table\/(client|read|write)|attachments\/files|checkout\/carrier-token)\.ts$|^infra\//;
const sdk = /^@aws-sdk\/|^@smithy\//;

const root = join(import.meta.dirname, "..");
const sources = globSync(["shared/**/*.ts", "functions/**/*.ts", "infra/**/*.ts"], { cwd: root });

const importsOf = (file: string) => {
  const text = readFileSync(join(root, file), "utf8");
  const found = [...text.matchAll(/(?:from|import)\s+"([^"]+)"|import\("([^"]+)"\)/g)].map(
    (match) => match[1] ?? match[2] ?? "",
  );
  return found.map((name) => (name.startsWith(".") ? normalize(join(dirname(file), name)) : name));
};

const offenders = (files: readonly string[], allowed: (imported: string, file: string) => boolean) =>
  files.flatMap((file) =>
    importsOf(file)
      .filter((name) => !allowed(name, file))
      .map((name) => `${file} -> ${name}`),
  );

const inRoom = (room: string) => sources.filter((file) => file.startsWith(room));

describe("the import rules", () => {
  it("find the sources that they are about", () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(importsOf("functions/request-attachments/show.ts")).toContain("shared/http/endpoint.ts");
  });

  it("let the pure modules import zod and each other only", () => {
    const files = sources.filter((file) => pure.test(file));
    expect(offenders(files, (name) => name.startsWith("zod") || pure.test(name))).toEqual([]);
  });

  it("let shared import shared only, and only the doors to the network touch an SDK", () => {
    expect(offenders(inRoom("shared/"), (name) => !/^(functions|infra|test)\//.test(name))).toEqual([]);
    expect(offenders(inRoom("shared/"), (name, file) => !sdk.test(name) || mayTouchAnSdk.test(file))).toEqual([]);
  });

  it("let a function import shared, and zod for its slice of the workflow's state; never another function, infra or an SDK", () => {
    expect(offenders(inRoom("functions/"), (name) => name.startsWith("shared/") || name === "zod/mini")).toEqual([]);
  });

  it("let what describes AWS import the pure modules only", () => {
    const files = [...inRoom("infra/aws/"), ...inRoom("infra/openapi")];
    const shared = (name: string) => name.startsWith("shared/") && !pure.test(name);
    expect(offenders(files, (name) => !shared(name) && !name.startsWith("functions/"))).toEqual([]);
  });

  it("let nothing import the tests", () => {
    expect(offenders(sources, (name) => !name.startsWith("test/"))).toEqual([]);
  });
});

describe("a function", () => {
  it("is a file for every route, and a route for every file of an endpoint", () => {
    for (const { name } of routes) expect(existsSync(join(root, `functions/${name}.ts`)), name).toBe(true);
    const files = globSync("functions/{request-attachments,order-attachments,switches}/*.ts", { cwd: root });
    expect(files.map((file) => file.slice("functions/".length, -3)).sort()).toEqual(
      routes.map(({ name }) => name).sort(),
    );
  });

  it("has at most 20 lines", () => {
    for (const file of inRoom("functions/"))
      expect(readFileSync(join(root, file), "utf8").split("\n").length, file).toBeLessThanOrEqual(21);
  });
});
