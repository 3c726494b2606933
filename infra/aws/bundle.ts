import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { keepOwnSources } from "./source-map.ts";

const root = join(import.meta.dirname, "../..");

/** The handler in every bundle, in Lambda's notation: file and export. */
export const handlerName = "index.handler";

/** esbuild's options for every bundle. The benchmarks use them too. */
export const bundleOptions = {
  absWorkingDir: root,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  minify: true,
  format: "esm",
  platform: "node",
  target: "node24",
  // Prefer ES modules: only those can be tree-shaken.
  mainFields: ["module", "main"],
  // CommonJS packages (busboy) load Node's modules with require, which ES modules do not have.
  banner: { js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);' },
  // The source map does not need a copy of the sources, which are in the repository.
  sourcemap: true,
  sourcesContent: false,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
} as const satisfies BuildOptions;

/** Replacements for parts of the SDK that no function uses, but every cold start would load. Each file says why. */
const standIns = Object.fromEntries(
  Object.entries({
    "@aws-sdk/credential-provider-node": "credential-provider-node.ts",
    "@smithy/core/event-streams": "event-streams.ts",
  }).map(([module, file]) => [module, join(import.meta.dirname, "stand-ins", file)]),
);

/**
 * Lets esbuild tree-shake the schemas of an SDK client. Their property names are constants, `{ [_hH]: _xaa }`, and esbuild
 * treats a computed property name as a side effect, which keeps all of S3's hundred operations in the bundle. This plugin
 * replaces the constants by their values. The bundle of an upload becomes 55 KB smaller and loads 7 ms faster (61 ms instead of
 * 68, on two idle cores).
 */
const shakeSchemas: Plugin = {
  name: "shake-schemas",
  setup: ({ onLoad }) =>
    onLoad({ filter: /[/\\]schemas[/\\]schemas_\d+\.js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const constants = new Map(
        Array.from(source.matchAll(/^const (\w+) = (".*");$/gm), ([, name, text]) => [name, text]),
      );
      return {
        contents: source.replace(/(?<=[{,] )\[(\w+)\](?=:)/g, (computed, name) => constants.get(name) ?? computed),
      };
    }),
};

/**
 * Bundles functions in one esbuild call. A function's name is its path below `functions/`, without `.ts`. Each bundle is
 * written to a directory of its own in `outdir`: `<name>/index.mjs` and its source map. Returns esbuild's metafile, which lists
 * the contents of each bundle.
 */
export const bundle = async (names: readonly string[], outdir: string) => {
  await rm(outdir, { recursive: true, force: true });
  const { metafile } = await build({
    ...bundleOptions,
    entryPoints: names.map((name) => ({ in: `functions/${name}.ts`, out: `${name}/index` })),
    outdir,
    alias: standIns,
    plugins: [shakeSchemas],
  });
  await Promise.all(names.map((name) => keepOwnSources(join(outdir, name, "index.mjs.map"), root)));
  return metafile;
};
