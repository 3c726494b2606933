import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { pageHtml } from "./html.ts";
import { readPage } from "./operations.ts";
import { isJson } from "./schema.ts";

/** Builds the files of the API reference from `openapi.json`. */

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
  return [name.replace(".", `.${hash}.`), { contentType, body, immutable: true }] as const;
};

const fresh = (contentType: string, text: string): SiteFile => ({
  contentType,
  body: Buffer.from(text),
  immutable: false,
});

export const readDocument = (file = join(folder, "../../openapi.json")) => {
  const document: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!isJson(document) || !isJson(document.paths)) throw new Error(`${file} is not an OpenAPI document.`);
  return document;
};

type Document = ReturnType<typeof readDocument>;

export const jsonFile = (value: unknown) => fresh("application/json", `${JSON.stringify(value, null, 2)}\n`);

/** The document with this server only. */
export const documentFile = (document: Document, server: string) =>
  jsonFile({ ...document, servers: [{ url: server }] });

type SiteOptions = {
  readonly document: Document;
  /** The base address in the samples, if it is not the page's own origin. */
  readonly server?: string | undefined;
  /** The origin of the bucket, if the page may send direct uploads there. */
  readonly storage?: string | undefined;
};

/** The files of the page by name, without the document. */
export const siteFiles = async (options: SiteOptions): Promise<ReadonlyMap<string, SiteFile>> => {
  const { document, server = "", storage = "" } = options;
  const bundled = bundle();
  const script = hashed("page.js", "text/javascript; charset=utf-8", bundled.script);
  const style = hashed("page.css", "text/css; charset=utf-8", bundled.style);
  const icon = hashed("icon.svg", "image/svg+xml", readFileSync(join(folder, "icon.svg")));
  const assets = { script: script[0], style: style[0], icon: icon[0] };
  const html = await pageHtml({ ...readPage(document), server, storage, assets });
  return new Map([["index.html", fresh("text/html; charset=utf-8", html)], script, style, icon]);
};
