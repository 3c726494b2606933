import { rmSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, buildSync } from "esbuild";

const root = join(import.meta.dirname, "../..");

/** The handler in every bundle, as Lambda takes it: file and export. */
export const handlerName = "index.handler";

/** How every bundle is built; the benchmarks build what they compare with in the same way. */
export const bundleOptions = {
  absWorkingDir: root,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  minify: true,
  format: "esm",
  platform: "node",
  target: "node24",
  // The packages' ES modules where they have them: only those can be shaken.
  mainFields: ["module", "main"],
  // CommonJS packages (busboy) ask for Node's own modules with require, which ES modules lack.
  banner: { js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);' },
  // Names stay readable in stacks, and the sources are in the repository: the map needs no copy of them.
  sourcemap: true,
  sourcesContent: false,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
} as const satisfies BuildOptions;

/**
 * Bundles functions (by their names: files below `functions/`, without `.ts`) in one esbuild call. Each gets a directory
 * of its own in `outdir`, `<name>/index.mjs` and its source map, which holds all that it needs and nothing else.
 * Answers esbuild's metafile, which tells what is in each bundle.
 */
export const bundle = (names: readonly string[], outdir: string) => {
  rmSync(outdir, { recursive: true, force: true });
  const { metafile } = buildSync({
    ...bundleOptions,
    entryPoints: names.map((name) => ({ in: `functions/${name}.ts`, out: `${name}/index` })),
    outdir,
    alias: { "@aws-sdk/credential-provider-node": join(import.meta.dirname, "environment-credentials.ts") },
  });
  return metafile;
};
