import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArguments } from "../local/command.ts";
import { pageDocument, referencePage, scalar } from "./reference.ts";

/** `./patchbay docs`, which writes the API reference as static files. */

const help = `Usage: ./patchbay docs [options]

Writes index.html, scalar.js and openapi.json: the API reference, for any web server and below any path. It loads nothing
from other hosts, and can send requests only if it is served from the origin of --server.

  --server <url>  base address of the deployment (default: http://127.0.0.1:3000)
  --out <dir>     folder to write to (default: reference)
  --help          print this help`;

const { values } = parseArguments(help, {
  args: process.argv.slice(3),
  options: {
    server: { type: "string", default: "http://127.0.0.1:3000" },
    out: { type: "string", default: "reference" },
  },
});

const files = {
  "index.html": referencePage,
  "scalar.js": await scalar(),
  "openapi.json": pageDocument(values.server),
};
mkdirSync(values.out, { recursive: true });
for (const [name, content] of Object.entries(files)) writeFileSync(join(values.out, name), content);
console.log(`Wrote ${join(values.out, "index.html")} and the files it loads. Its samples call ${values.server}.`);
