import { parentPermissions } from "../../shared/attachments/routes.ts";
import { errorCodes } from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";
import type { Contract, DocumentedRoute, Route } from "../../shared/route.ts";
import { contracts } from "../../shared/routes.ts";
import { reasons } from "./error-examples.ts";
import { operationId } from "./names.ts";
import { parametersOf, requestBodyOf } from "./requests.ts";
import { headers, responsesOf } from "./responses.ts";
import { collectSchemas, componentsOf, type Json } from "./schemas.ts";
import { webhooksOf } from "./webhooks.ts";

const statusOf = new Map(errorCodes.map(({ code, status }) => [code, status]));
const rows = Object.entries(reasons)
  .map(([code, reason]) => `| ${statusOf.get(code)} | \`${code}\` | ${reason} |`)
  .join("\n");

const description = `Patchbay stores supporting files (attachments) for number orders and for the requests within them, and configurations (switches) that describe how inbound SMS and MMS messages are delivered.

\`npm start\` and \`./patchbay deploy\` print the base address. It has no trailing slash.

## Authentication

Every request requires the header \`Authorization: Bearer <API key>\`. A key has access to its own account and to every account below it. A request for a resource of any other account returns 404, as if the resource did not exist.

## Documents

Every document is an envelope with \`type\` and \`data\`. A response with one document has an \`ETag\`. Send it back as \`If-Match\` with a PATCH or DELETE: if the document has changed in the meantime, the request fails with 412. Send it as \`If-None-Match\` with a GET: if the document has not changed, the response is 304 without a body. As in RFC 9110, both headers apply to every request for one document: a GET also fails with 412 if \`If-Match\` does not list its \`ETag\`, and a PATCH or DELETE if \`If-None-Match\` does. Other requests ignore them. A GET accepts \`include\`, a comma-separated list of the related data to return under \`associations\` in each document. Every response has an \`X-Request-Id\`, except a 413 in plain text (see below).

## Lists

Lists use cursor pagination. \`first\` with \`after\` pages forward, \`last\` with \`before\` pages backward. The two pairs cannot be combined. Items are in ascending order of their ids in both directions.

## Large files

A form can contain a file of up to ${limits.fileBytes.toLocaleString("en")} bytes. A larger file, up to ${limits.uploadBytes.toLocaleString("en")} bytes, is sent directly to storage, in three calls: prepare a direct upload with \`POST .../uploads\`; send the file, using the \`method\`, \`url\` and \`headers\` of the response (a repeated request returns 412, which means that the file is already stored, or 409 while storage still receives another one: repeat it after a moment); complete the upload with \`POST .../uploads/{upload_id}/complete\`, which creates the attachment.

## Events

Every confirmed change is an event on the EventBridge bus of the deployment. An API destination posts it to a URL, as the webhooks of this document describe. An event can arrive twice: drop any whose \`detail.id\` you have processed. Events are unordered: the higher \`detail.resource.version\` is newer. A deletion keeps the last version and is final.

## Errors

Every error response has the same body, \`{"errors": [...]}\`, and lists all errors of the request. One exception: on AWS, a body above 10 MB returns 413 as plain text, without \`X-Request-Id\`. So decide by the status whether a file needs a direct upload.

| Status | Code | Reason |
| --- | --- | --- |
${rows}

A request that cannot be read as HTTP returns 400, and one whose headers are too large returns 431, both with the code \`invalid_parameter\` (on AWS, \`payload_too_large\`).
`;

const info = {
  title: "Patchbay",
  version: "1",
  summary: "Attachments of number orders and messaging switches.",
  description,
  // Each deployment has its own operators, so there is no address that fits all.
  contact: { name: "The operators of this deployment" },
  license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
};

const servers = [
  {
    url: "{base_url}",
    // The published schema of OpenAPI 3.1 has no description of a variable, and swagger-parser rejects one.
    // Tools show this description as the server's name.
    description: "Local or deployed",
    variables: { base_url: { default: "http://127.0.0.1:3000" } },
  },
];

const apiKey = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "apik_...",
  description:
    "An API key: `apik_` and 43 characters. A request has the permissions of the user that the key impersonates.",
};

const requirementsOf = ({ parent, permission }: Route): string => {
  const own = `\`${permission}\``;
  if (parent !== "request" && parent !== "order") return `**Permission:** ${own}.`;
  const { CART, CHECKED_OUT } = parentPermissions[parent];
  return `**Permissions:** ${own}, and \`${CART}\` before checkout or \`${CHECKED_OUT}\` after checkout.\n\n**Feature:** Ordering Attachment Access, enabled for the account that owns the ${parent}.`;
};

/** Generates the OpenAPI 3.1 document of the API from the contracts of the domains and the error catalogue. */
export const openapi = () => {
  const [schemas, parameters, responses] = [collectSchemas(), componentsOf("parameters"), componentsOf("responses")];
  const operationOf = (route: DocumentedRoute, contract: Contract): Json => {
    const requestBody = requestBodyOf(route, schemas);
    return {
      operationId: operationId(route),
      tags: [contract.tags[route.resource]?.name],
      summary: route.docs.summary,
      description: `${route.docs.description}\n\n${requirementsOf(route)}`,
      parameters: parametersOf(route, parameters.add),
      ...(requestBody && { requestBody }),
      responses: responsesOf(route, schemas, responses.add),
    };
  };
  const paths: { [path: string]: Json } = {};
  for (const contract of contracts)
    for (const route of contract.routes)
      paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route, contract) };
  return {
    // The version is not 3.1.1, which means the same and which swagger-parser before 10.1.1 rejects.
    openapi: "3.1.0",
    info,
    servers,
    security: [{ apiKey: [] }],
    tags: contracts.flatMap(({ tags }) => Object.values(tags)),
    paths,
    webhooks: webhooksOf(schemas),
    components: {
      schemas: schemas.sorted(),
      parameters: parameters.sorted(),
      headers,
      responses: responses.sorted(),
      securitySchemes: { apiKey },
    },
  };
};
