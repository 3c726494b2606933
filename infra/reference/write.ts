import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { documentFile, readDocument, siteFiles } from "./site.ts";

/** `npm run docs`: writes the API reference as static files. */

const help = `Usage: npm run docs -- [options]

Writes the API reference as static files: index.html, the files it loads, and openapi.json. The page works at any address
and below any path, and loads nothing from other hosts.

  --server <url>   base address of the deployment, used in the samples (default: http://127.0.0.1:3000)
  --storage <url>  origin of the bucket, to which the page may send direct uploads
                   (https://<bucket>.s3.<region>.amazonaws.com)
  --out <dir>      folder to write to (default: reference)
  --document <file>  the OpenAPI document (default: this project's openapi.json)
  --help           print this help

The page can send requests only if it is served from the origin of --server; elsewhere it shows samples only. To send
direct uploads too, pass --storage and add the page's origin to the deployment's uploadOrigins.`;

const addressOf = (option: string, text: string): URL => {
  const url = URL.parse(text);
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new Error(`--${option} must be an http or https URL, not ${text}.`);
  return url;
};

/** Node's own `recursive` never returns if the file system refuses a folder with ENOENT, as /proc does. */
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
};

const main = async () => {
  const { values } = parseArgs({
    options: {
      server: { type: "string", default: "http://127.0.0.1:3000" },
      storage: { type: "string" },
      out: { type: "string", default: "reference" },
      document: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(help);
  const server = addressOf("server", values.server).href.replace(/\/$/, "");
  const storage = values.storage && addressOf("storage", values.storage).origin;
  const document = readDocument(values.document);
  const site = new Map([
    ...(await siteFiles({ document, server, storage })),
    ["openapi.json", documentFile(document, server)] as const,
  ]);
  makeFolder(resolve(values.out));
  for (const [name, { body }] of site) writeFileSync(join(values.out, name), body);
  console.log(`Wrote ${join(values.out, "index.html")} and the files it loads. Its samples call ${server}.`);
};

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
