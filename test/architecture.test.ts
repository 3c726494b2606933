import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { routes } from "../shared/routes.ts";

/** The rules of the house: who may import whom, how large a function's world is, and that comments name what exists. */

const root = join(import.meta.dirname, "..");
const sources = globSync(["shared/**/*.ts", "functions/**/*.ts", "infra/**/*.ts"], { cwd: root });
const textOf = (file: string) => readFileSync(join(root, file), "utf8");

const importsOf = (file: string) => {
  const found = [...textOf(file).matchAll(/(?:from|import)\s+"([^"]+)"|import\("([^"]+)"\)/g)].map(
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

const below = (...folders: readonly string[]) =>
  sources.filter((file) => folders.some((folder) => file.startsWith(folder)));

/** What describes the interface and needs no AWS: for the table of routes, the template and OpenAPI. */
const pure =
  /^shared\/((routes|errors|limits)\.ts|schema\/|(attachments|switches|tenants|checkout)\/(schema|descriptions|documents)\.ts|checkout\/steps\.ts|table\/(keys|expressions)\.ts)/;

const mayUseTheSdk = /^(shared\/(table\/(client|read|write)|attachments\/files|checkout\/carrier-token)\.ts|infra\/)/;

/** What each folder of shared may import beside itself, zod and Node's own modules; "" is a file at its root. */
const allowedBelow: Readonly<Record<string, readonly string[]>> = {
  "": ["schema", "attachments/schema.ts", "switches/schema.ts"],
  schema: [""],
  table: ["", "schema"],
  tenants: ["", "schema", "table"],
  attachments: ["", "schema", "table", "tenants"],
  switches: ["", "schema", "table", "tenants"],
  http: ["", "schema", "table", "tenants", "attachments/schema.ts"],
  checkout: ["", "schema", "table", "tenants", "attachments"],
};

const folderOf = (file: string) => (/^shared\/([^/]+)\//.exec(file) ?? [])[1] ?? "";

const staysBelow = (imported: string, file: string) => {
  if (!imported.startsWith("shared/")) return !/^(functions|infra|test)\//.test(imported);
  const [own, other] = [folderOf(file), folderOf(imported)];
  return own === other || (allowedBelow[own] ?? []).some((one) => one === other || imported === `shared/${one}`);
};

describe("the import rules", () => {
  it("find the sources that they are about", () => {
    expect(sources.length).toBeGreaterThan(100);
    expect(importsOf("functions/request-attachments/show.ts")).toContain("shared/http/endpoint.ts");
    expect([...new Set(below("shared/").map(folderOf))].sort()).toEqual(Object.keys(allowedBelow).sort());
  });

  it("let imports within shared point down: http and checkout, domains, table, schema, the files at the root", () => {
    expect(offenders(below("shared/"), staysBelow)).toEqual([]);
  });

  it("let only the clients' modules use an SDK", () => {
    const sdk = /^@aws-sdk\/|^@smithy\//;
    expect(offenders(sources, (name, file) => !sdk.test(name) || mayUseTheSdk.test(file))).toEqual([]);
  });

  it("let a function import shared, and zod for its slice of the workflow's state; no function, infra or SDK", () => {
    expect(offenders(below("functions/"), (name) => name.startsWith("shared/") || name === "zod/mini")).toEqual([]);
  });

  it("let what describes AWS and the interface import the pure modules only", () => {
    const shared = (name: string) => name.startsWith("shared/") && !pure.test(name);
    const files = below("infra/aws/", "infra/openapi/");
    expect(offenders(files, (name) => !shared(name) && !name.startsWith("functions/"))).toEqual([]);
  });

  it("let only OpenAPI and the tests load what describes the documents", () => {
    const describes = /\/(descriptions|[\w-]*documents?)\.ts$/;
    const files = sources.filter((file) => !file.startsWith("infra/openapi/") && !describes.test(file));
    expect(offenders(files, (name) => !name.startsWith("shared/") || !describes.test(name))).toEqual([]);
  });

  it("let nothing import the tests", () => {
    expect(offenders(sources, (name) => !name.startsWith("test/"))).toEqual([]);
  });

  it("keep the root of shared and of infra free of anything loose", () => {
    const loose = globSync("{shared,infra}/*.ts", { cwd: root });
    expect(loose.sort()).toEqual(["env", "errors", "limits", "log", "routes"].map((name) => `shared/${name}.ts`));
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
    for (const file of below("functions/")) expect(textOf(file).split("\n").length, file).toBeLessThanOrEqual(21);
  });

  it.each([
    // A form and a direct upload: what they share is one transaction.
    ["request-attachments/create", 30],
    ["switches/list", 25],
  ])("%s reaches at most %i files of ours", async (name, most) => {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: [`functions/${name}.ts`],
      bundle: true,
      format: "esm",
      platform: "node",
      packages: "external",
      write: false,
      metafile: true,
    });
    expect(Object.keys(metafile.inputs).length).toBeLessThanOrEqual(most);
  });
});

describe("comments and documents", () => {
  it("name only files that exist", () => {
    const files = [
      ...sources,
      ...globSync(["test/**/*.ts", "*.md", "{shared,functions,infra,test}/**/*.md"], { cwd: root }),
    ];
    const named = /(?<![\w/.@$}{-])((?:shared|functions|infra|test)\/[\w./-]*\.(?:ts|json|md)|[\w-]+\.md)\b/g;
    const own = files.filter((file) => file !== "test/architecture.test.ts");
    const missing = own.flatMap((file) =>
      [...textOf(file).matchAll(named)]
        .map(([, name = ""]) => name)
        .filter((name) => ![name, join(dirname(file), name)].some((path) => existsSync(join(root, path))))
        .map((name) => `${file}: ${name}`),
    );
    expect(missing).toEqual([]);
  });
});
