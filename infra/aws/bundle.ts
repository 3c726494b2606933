import { rmSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";

const root = join(import.meta.dirname, "../..");

/** The handler in every bundle, as Lambda takes it: file and export. */
export const handlerName = "index.handler";

/**
 * Bundles functions (by their names: files below `functions/`, without `.ts`) in one esbuild call. Each gets a directory
 * of its own in `outdir`, `<name>/index.mjs` and its source map, which holds all that it needs and nothing else.
 * Answers esbuild's metafile, which tells what is in each bundle.
 */
export const bundle = (names: readonly string[], outdir: string) => {
  rmSync(outdir, { recursive: true, force: true });
  const { metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: names.map((name) => ({ in: `functions/${name}.ts`, out: `${name}/index` })),
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node24",
    // The packages' ES modules where they have them: only those can be shaken.
    mainFields: ["module", "main"],
    alias: { "@aws-sdk/credential-provider-node": join(import.meta.dirname, "environment-credentials.ts") },
    // CommonJS packages (busboy) ask for Node's own modules with require, which ES modules lack.
    banner: { js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);' },
    // Names stay readable in stacks, and the sources are in the repository: the map needs no copy of them.
    sourcemap: true,
    sourcesContent: false,
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  return metafile;
};
