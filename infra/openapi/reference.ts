import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";

/** The API reference, which is a page that shows the `openapi.json` in its folder with Scalar. */

const Document = z.looseObject({
  components: z.looseObject({
    parameters: z.record(z.string(), z.looseObject({ name: z.string() })),
    securitySchemes: z.looseObject({ apiKey: z.looseObject({}) }),
  }),
});

/** The OpenAPI document with this server only. */
export const documentOf = (server: string) => {
  const text = readFileSync(join(import.meta.dirname, "../../openapi.json"), "utf8");
  return { ...z.parse(Document, JSON.parse(text)), servers: [{ url: server }] };
};

/** An API key, and ids by the names of path parameters. */
export type Prefill = { readonly key: string; readonly ids: Readonly<Record<string, string>> };

/** In a narrow window, Scalar shows `contact` and `license` only as an icon. It marks an empty field for an `integer` as invalid. */
const shown = (name: string, value: unknown): unknown => {
  if (name === "x-internal" || name === "contact" || name === "license") return undefined;
  return name === "type" && value === "integer" ? ["integer"] : value;
};

/** Returns the document for the page. It has the events, which are hidden only from generators, and the values to fill in. */
export const pageDocument = (server: string, prefill?: Prefill): string => {
  const document = documentOf(server);
  const { parameters, securitySchemes } = document.components;
  if (prefill) securitySchemes.apiKey["x-scalar-secret-token"] = prefill.key;
  for (const parameter of Object.values(parameters))
    parameter.example = prefill?.ids[parameter.name] ?? parameter.example;
  return JSON.stringify(document, shown);
};

/**
 * Hides Scalar's file buttons for all parts of a form except the file. In windows narrower than 1,280 px, keeps the response at the
 * lower edge, because Scalar shows it below the form, out of view.
 */
const customCss = `
tr[id]:not([id="data[file]"]) > td:nth-child(4) button { display: none; }
@media (max-width: 1279px) {
  section:has(> .response-section-content) { position: sticky; bottom: 0; flex: none !important; height: 45dvh !important; }
}`;

/** Scalar then calls no other host, such as for fonts, an assistant or a proxy. */
const configuration = {
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  documentDownloadType: "none",
  customCss,
};

/** Styles are allowed inline, because Scalar writes its style sheet into the page. */
export const contentSecurityPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'";

/** Scalar reads its configuration from the element with this id. */
export const referencePage = `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width, initial-scale=1" />
  <meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy}" />
  <title>Patchbay API reference</title>
  <link rel="icon" href="data:," />
  <body>
    <script id="api-reference" src="scalar.js" data-url="openapi.json" data-configuration='${JSON.stringify(configuration)}'></script>
  </body>
</html>
`;

/**
 * Scalar's Zod tries to compile code, which the policy forbids and the console reports.
 * Source: https://github.com/colinhacks/zod/issues/4461
 */
const zodConfiguration = "globalThis.__zod_globalConfig = { jitless: true };\n";

/** Returns Scalar's script. Its package has it only as a response of a Fastify plugin, which needs no more of Fastify than this. */
export const scalar = async (): Promise<string> => {
  const { default: plugin } = await import("@scalar/fastify-api-reference");
  const scripts: string[] = [];
  const reply = { header: () => reply, send: (text: string) => scripts.push(text) };
  type Route = { readonly url: string; readonly handler: (request: object, response: typeof reply) => unknown };
  const route = ({ url, handler }: Route) => url.endsWith("scalar.js") && handler({}, reply);
  plugin(Object({ route }), { configuration: { url: "openapi.json" } }, () => {});
  const [script] = scripts;
  if (script === undefined) throw new Error("@scalar/fastify-api-reference has no script any more.");
  return zodConfiguration + script;
};
