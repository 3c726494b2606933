import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { openapi } from "../../openapi/document.ts";
import { pageHtml } from "./html.ts";
import { groupsOf } from "./operations.ts";

/** Builds the files of the API reference. `npm start` serves them under /docs/, and `npm run docs` writes them to a folder. */

export type SiteFile = {
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Whether the name contains a hash of the content. */
  readonly immutable: boolean;
};

const folder = import.meta.dirname;

/**
 * The bundled script and style sheet of the page. Synchronous, because esbuild's long-lived process would terminate this one if
 * it failed to start.
 */
const bundle = () => {
  const { outputFiles } = buildSync({
    entryPoints: [join(folder, "browser/page.ts"), join(folder, "page.css")],
    // Nothing is written there, but several files need a place.
    outdir: folder,
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    logLevel: "silent",
  });
  const contentOf = (extension: string) => {
    const output = outputFiles.find(({ path }) => path.endsWith(extension));
    if (!output) throw new Error(`esbuild wrote no ${extension} file.`);
    return output.contents;
  };
  return { script: contentOf(".js"), style: contentOf(".css") };
};

const hashed = (name: string, contentType: string, body: Uint8Array) => {
  const hash = createHash("sha256").update(body).digest("hex").slice(0, 12);
  return { name: name.replace(".", `.${hash}.`), file: { contentType, body, immutable: true } };
};

type SiteOptions = {
  /** The base address in the samples, if it is not the page's own origin. */
  readonly server?: string | undefined;
  /** The origin of the bucket, if the page may send direct uploads there. */
  readonly storage?: string | undefined;
};

/** The files of the page by name. */
export const siteFiles = async ({ server = "", storage = "" }: SiteOptions): Promise<ReadonlyMap<string, SiteFile>> => {
  const bundled = bundle();
  const script = hashed("page.js", "text/javascript; charset=utf-8", bundled.script);
  const style = hashed("page.css", "text/css; charset=utf-8", bundled.style);
  const icon = hashed("icon.svg", "image/svg+xml", readFileSync(join(folder, "icon.svg")));
  const document = openapi();
  const { title, version, description } = document.info;
  const assets = { script: script.name, style: style.name, icon: icon.name };
  const groups = groupsOf(document);
  const page = await pageHtml({ title, version, description, groups, server, storage, assets });
  const html = { contentType: "text/html; charset=utf-8", body: Buffer.from(page), immutable: false };
  return new Map<string, SiteFile>([
    ["index.html", html],
    ...[script, style, icon].map(({ name, file }) => [name, file] as const),
  ]);
};

/** The OpenAPI document with this server only. */
export const documentFor = (server: string) => ({ ...openapi(), servers: [{ url: server }] });
