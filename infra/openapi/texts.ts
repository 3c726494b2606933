import { errorCodes } from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";
import { reasons } from "./errors.ts";

const statusOf = new Map(errorCodes.map(({ code, status }) => [code, status]));
const rows = Object.entries(reasons)
  .map(([code, reason]) => `| ${statusOf.get(code)} | \`${code}\` | ${reason} |`)
  .join("\n");

/** The introduction of the API reference, in Markdown. */
export const description = `Patchbay stores supporting files (attachments) for number orders and for the requests within them, and configurations (switches) that describe how inbound SMS and MMS messages are delivered.

## Authentication

Every request requires the header \`Authorization: Bearer <API key>\`. A key has access to its own account and to every account below it. A request for a resource of any other account returns 404, as if the resource did not exist.

## Documents

Every document is an envelope with \`type\` and \`data\`. A response with one document has an \`ETag\`. Send it back as \`If-Match\` with a PATCH or DELETE: if the document has changed in the meantime, the request fails with 412. Send it as \`If-None-Match\` with a GET: if the document has not changed, the response is 304 without a body. A GET accepts \`include\`, a comma-separated list of the related data to return under \`associations\` in each document. Every response has an \`X-Request-Id\`.

## Lists

Lists use cursor pagination. \`first\` with \`after\` pages forward, \`last\` with \`before\` pages backward. The two pairs cannot be combined. Items are in ascending order of their ids in both directions.

## Large files

A form can contain a file of up to ${limits.fileBytes.toLocaleString("en")} bytes. A larger file, up to ${limits.uploadBytes.toLocaleString("en")} bytes, is sent directly to storage, in three calls: prepare a direct upload with \`POST .../uploads\`; send the file, using the \`method\`, \`url\` and \`headers\` of the response (a repeated request returns 412, which means that the file is there); create the attachment with \`POST .../attachments\` and a JSON body that has the \`upload_id\`.

## Errors

Every error response has the same body, \`{"errors": [...]}\`, and lists all errors of the request.

| Status | Code | Reason |
| --- | --- | --- |
${rows}

A request that cannot be read as HTTP returns 400, and one whose headers are too large returns 431, both with the code \`invalid_parameter\`.
`;
