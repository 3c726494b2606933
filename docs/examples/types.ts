/** Writes the types of openapi.json to openapi.d.ts, with files as `Blob`, for which openapi-typescript's CLI has no option. */
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const file = ts.factory.createTypeReferenceNode("Blob");
const types = await openapiTS(readFileSync("openapi.json", "utf8"), {
  defaultNonNullable: false,
  transform: ({ format }) => (format === "binary" ? file : undefined),
});
writeFileSync("openapi.d.ts", astToString(types));
