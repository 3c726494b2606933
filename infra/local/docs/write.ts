import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { makeFolder } from "../make-folder.ts";
import { documentFor, siteFiles } from "./site.ts";

/** `npm run docs`: writes the API reference as static files. */

const help = `Usage: npm run docs -- [options]

Writes the API reference as static files: index.html, the files it loads, and openapi.json. The page works at any address
and below any path, and loads nothing from other hosts.

  --server <url>   base address of the deployment, used in the samples (default: http://127.0.0.1:3000)
  --storage <url>  origin of the bucket, to which the page may send direct uploads
                   (https://<bucket>.s3.<region>.amazonaws.com)
  --out <dir>      folder to write to (default: reference)
  --help           print this help

The page can send requests only if it is served from the origin of --server; elsewhere it shows samples only. To send
direct uploads too, pass --storage and add the page's origin to the deployment's uploadOrigins.`;

const addressOf = (option: string, text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new Error(`--${option} must be an http or https URL, not ${text}.`);
  return url;
};

type Options = { readonly server: string; readonly storage: string | undefined; readonly out: string };

const write = async ({ server: given, storage, out: folder }: Options) => {
  const server = addressOf("server", given).href.replace(/\/$/, "");
  const site = await siteFiles({ server, storage: storage && addressOf("storage", storage).origin });
  makeFolder(folder);
  for (const [name, { body }] of site) writeFileSync(join(folder, name), body);
  writeFileSync(join(folder, "openapi.json"), `${JSON.stringify(documentFor(server), null, 2)}\n`);
  console.log(`Wrote ${join(folder, "index.html")} and the files it loads. Its samples call ${server}.`);
};

const main = async () => {
  const { values } = parseArgs({
    options: {
      server: { type: "string", default: "http://127.0.0.1:3000" },
      storage: { type: "string" },
      out: { type: "string", default: "reference" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(help);
  await write({ server: values.server, storage: values.storage, out: values.out });
};

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
