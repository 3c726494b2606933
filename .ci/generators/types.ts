/** Writes the types of openapi.json as openapi-typescript generates them, with files as `Blob`, for which its CLI has no option. */
import { readFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const document = readFileSync(process.argv[2] ?? "", "utf8");
const file = ts.factory.createTypeReferenceNode("Blob");
const types = await openapiTS(document, {
  defaultNonNullable: false,
  transform: ({ format }) => (format === "binary" ? file : undefined),
});
console.log(astToString(types));
