import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { routes } from "../shared/routes.ts";

/** The architecture's rules. They are about allowed imports, how many files a function loads, and references to missing files. */

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

/** Modules that do not need AWS, which the template and OpenAPI may import. */
const pure =
  /^shared\/((routes?|errors|limits)\.ts|schema\/|(attachments|switches|tenants|checkout)\/(\w+-schema|routes|contract|file-keys)\.ts|checkout\/steps\.ts|history\/event\.ts|table\/(keys|expressions)\.ts)/;

const sdk = /^@aws-sdk\/|^@smithy\//;
const mayUseTheSdk =
  /^(shared\/(table\/(client|read|update|write)|history\/(publish|dead-letters)|attachments\/files|checkout\/(carrier-(token|function)|execution))\.ts|infra\/)/;

/** The floors of shared, from the top. A folder may import those below its own. "" stands for the files at the root of shared. */
const floors = [
  ["http", "checkout"],
  ["attachments", "switches"],
  ["tenants"],
  ["history"],
  ["table"],
  ["schema"],
  [""],
];

const folderOf = (file: string) => (/^shared\/([^/]+)\//.exec(file) ?? [])[1] ?? "";
const floorOf = (file: string) => floors.findIndex((folders) => folders.includes(folderOf(file)));

const staysBelow = (imported: string, file: string) => {
  if (!imported.startsWith("shared/")) return !/^(functions|infra|test)\//.test(imported);
  return folderOf(imported) === folderOf(file) || floorOf(imported) > floorOf(file);
};

/** The list of all routes, above all floors. */
const routeList = "shared/routes.ts";

describe("the import rules", () => {
  it("cover the sources", () => {
    expect(sources.length).toBeGreaterThan(100);
    expect(importsOf("functions/attachments/show.ts")).toContain("shared/http/endpoint.ts");
    expect([...new Set(below("shared/").map(folderOf))].sort()).toEqual(floors.flat().sort());
  });

  it("make imports within shared point down: http and checkout, domains, table, schema, the files at the root", () => {
    const files = below("shared/").filter((file) => file !== routeList);
    expect(offenders(files, (name, file) => name !== routeList && staysBelow(name, file))).toEqual([]);
    expect(importsOf(routeList).every((name) => /^shared\/(route|\w+\/contract)\.ts$/.test(name))).toBe(true);
  });

  const isShared = (name: string) => name.startsWith("shared/") && name !== routeList;
  const isFunction = (name: string) => name.startsWith("functions/") && name !== "functions/checkout/workflow.ts";
  const notOfTheCli = below("infra/").filter((file) => !/^infra\/(admin\/|console\/|patchbay\.ts$)/.test(file));

  it.each<[string, readonly string[], (imported: string, file: string) => boolean]>([
    ["an SDK only in the modules of the clients", sources, (name, file) => !sdk.test(name) || mayUseTheSdk.test(file)],
    [
      "a function to import shared and zod, but no other function, infra or SDK",
      below("functions/"),
      (name) => isShared(name) || name === "zod/mini",
    ],
    [
      "the template and OpenAPI to import only pure modules of shared",
      below("infra/aws/", "infra/openapi/"),
      (name) => pure.test(name) || !(name.startsWith("shared/") || isFunction(name)),
    ],
    ["no other folder of infra to import the CLI", notOfTheCli, (name) => !name.startsWith("infra/admin/")],
    [
      "only the front door to import the console",
      sources.filter((file) => !/^infra\/(console\/|patchbay\.ts$)/.test(file)),
      (name) => !name.startsWith("infra/console/"),
    ],
    ["no import of the tests", sources, (name) => !name.startsWith("test/")],
  ])("allow %s", (_, files, allowed) => {
    expect(offenders(files, allowed)).toEqual([]);
  });

  it("allow no circle of files", () => {
    const left = new Map(sources.map((file) => [file, importsOf(file).filter((name) => sources.includes(name))]));
    // Removes files that import no remaining file, until each remaining file imports another.
    for (let before = Number.POSITIVE_INFINITY; left.size < before; ) {
      before = left.size;
      for (const [file, imported] of left) if (!imported.some((name) => left.has(name))) left.delete(file);
    }
    expect([...left.keys()]).toEqual([]);
  });

  it("allow only the known files at the roots of shared and infra", () => {
    const loose = globSync("{shared,infra}/*.ts", { cwd: root });
    const known = [
      "deadline",
      "env",
      "errors",
      "for-each-concurrently",
      "http-request",
      "limits",
      "log",
      "route",
      "routes",
    ].map((name) => `shared/${name}.ts`);
    expect(loose.sort()).toEqual(["infra/patchbay.ts", ...known]);
  });
});

/**
 * Files that contracts load and functions do not. They have texts and examples of the OpenAPI document, and the list of all routes.
 */
const contractTexts = [
  "shared/attachments/contract.ts",
  "shared/routes.ts",
  "shared/schema/documents.ts",
  "shared/switches/contract.ts",
];

/** Returns the files of this repository that each function's bundle contains. */
const bundled = async (entryPoints: string[]) => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    outdir: "unused",
    write: false,
    metafile: true,
  });
  return Object.values(metafile.outputs).map(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
};

it("shared has nothing that no function loads, except the texts of contracts", async () => {
  const loaded = new Set((await bundled(below("functions/"))).flat());
  // No bundle contains files with types only.
  const unused = below("shared/").filter(
    (file) => !loaded.has(file) && /^(export )?(const|function|class)/m.test(textOf(file)),
  );
  expect(unused.sort()).toEqual(contractTexts);
});

describe("a function", () => {
  it("exists for every route, and every endpoint's file has a route", () => {
    const files = globSync("functions/*/*.ts", { cwd: root, exclude: ["functions/{checkout,events,tenants}/**"] });
    const named = new Set<string>(routes.map(({ file }) => file));
    expect(files.sort()).toEqual([...named].sort());
  });

  it("has at most 20 lines", () => {
    const functions = below("functions/").filter((file) => file !== "functions/checkout/workflow.ts");
    for (const file of functions) expect(textOf(file).split("\n").length, file).toBeLessThanOrEqual(21);
  });

  it.each([
    ["attachments/create", 33],
    ["switches/list", 26],
  ])("%s contains at most %i of our files", async (name, most) => {
    const [files = []] = await bundled([`functions/${name}.ts`]);
    expect(files.length).toBeLessThanOrEqual(most);
  });
});

describe("the CLI", () => {
  /** What is loaded with a file, before any `import()`. */
  const loadedWith = (file: string, loaded = new Set<string>()): ReadonlySet<string> => {
    if (loaded.has(file)) return loaded;
    loaded.add(file);
    const text = existsSync(join(root, file)) ? textOf(file) : "";
    for (const [, name = ""] of text.matchAll(/^(?:import|export|\}) (?!type ).*?from "([^"]+)"/gm))
      loadedWith(name.startsWith(".") ? normalize(join(dirname(file), name)) : name, loaded);
    return loaded;
  };
  const clientsOf = (file: string) =>
    [...loadedWith(file)].filter((name) => /^@aws-sdk\/client-/.test(name)).map((name) => name.slice(16));

  it.each([
    ["`./patchbay`", "infra/admin/program.ts", ["dynamodb"]],
    ["`account`", "infra/admin/accounts/accounts.ts", ["dynamodb"]],
    ["`order`", "infra/admin/orders/orders.ts", ["dynamodb", "sfn"]],
    ["`attachment`", "infra/admin/orders/attachments.ts", ["dynamodb"]],
    ["`find`", "infra/admin/history/find-command.ts", ["dynamodb"]],
  ])("%s begins with only the clients of AWS that each of its actions needs", (_, file, clients) => {
    expect(clientsOf(file)).toEqual(clients);
  });

  it("begins without the schema of switches and without what `apply` needs", () => {
    const loaded = [
      ...loadedWith("infra/admin/accounts/accounts.ts"),
      ...loadedWith("infra/admin/history/find-command.ts"),
    ];
    expect(loaded).toContain("shared/tenants/tenant-schema.ts");
    expect(loaded.filter((file) => /switch-schema|apply-plan/.test(file))).toEqual([]);
  });
});

describe("comments and documents", () => {
  const files = globSync(["*.md", "{.ci,docs,functions,infra,shared,test}/**/*.{ts,md}"], {
    cwd: root,
    exclude: ["**/node_modules/**"],
  });
  const documents = files.filter((file) => file.endsWith(".md"));
  const named = /(?<![\w/.@$}{-])((?:shared|functions|infra|test)\/[\w./-]*\.(?:ts|json|md)|[\w-]+\.md)\b/g;
  const linked = /(?:\]\((?!https?:)|src(?:set)?=")([^)#"]+)/g;
  // A name may omit its folder. openapi.d.ts is excluded, because it is generated.
  const ofTypeScript = /`(?!openapi\.d\.ts)([\w./-]+\.ts)`/g;
  const exists = (file: string, name: string) =>
    [name, join(dirname(file), name)].some((path) => existsSync(join(root, path)));
  const isEnd = (_: string, name: string) => files.some((path) => `/${path}`.endsWith(`/${name}`));

  it.each([
    ["name", named, files.filter((file) => file !== "test/architecture.test.ts"), exists],
    ["link to", linked, documents, exists],
    ["name as code", ofTypeScript, documents, isEnd],
  ])("%s only files that exist", (_, pattern, texts, isFile) => {
    const found = texts.flatMap((file) => [...textOf(file).matchAll(pattern)].map(([, name = ""]) => ({ file, name })));
    expect(found.filter(({ file, name }) => !isFile(file, name))).toEqual([]);
    expect(found.length).toBeGreaterThan(10);
  });
});
