import { rateLimited, serviceUnavailable } from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";
import { createSwitchRoutes } from "../../shared/switches/routes.ts";
import { errorTable } from "./error-examples.ts";

/** The beginning of the API reference, for whoever calls the API. What operators need is in other documents. */

const bytes = (count: number) => `${count.toLocaleString("en")} bytes`;
const secondsOf = ({ headers }: ReturnType<typeof rateLimited>) => headers["Retry-After"];

/** A test sends it, with the ids of a service. Its lines end with CRLF, and its length is that of the body. */
const form = `--f1
Content-Disposition: form-data; name="data[name]"

Letter of authorization
--f1
Content-Disposition: form-data; name="data[file_hint]"

LOA
--f1
Content-Disposition: form-data; name="data[file]"; filename="loa.pdf"
Content-Type: application/pdf

%PDF-1.7 signed
--f1--
`;

export const introduction = `Patchbay stores files (attachments) for number orders and for the requests within them, and switches, which state how inbound SMS and MMS messages are delivered.

## First request

The operators of your deployment give you its base URL and an API key. Every request has the header \`Authorization: Bearer <API key>\`:

\`\`\`sh
export URL=http://127.0.0.1:3000
export KEY=apik_…
curl "$URL/api/v1/switches" \\
  -H "Authorization: Bearer $KEY"
\`\`\`

The response is 200, and lists what you have. At first, that is nothing:

\`\`\`json
{"type": "list", "data": {
  "items": [],
  "page_info": {"after": null, "before": null,
    "limit": 50, "total": 0}}}
\`\`\`

This creates a switch. The response is 201 with the whole document:

\`\`\`sh
curl "$URL${createSwitchRoutes.own.path}" \\
  -H "Authorization: Bearer $KEY" \\
  -H "Idempotency-Key: $(uuidgen)" \\
  -H 'Content-Type: application/json' \\
  -d '{"type": "switch",
    "data": {"name": "Inbound"}}'
\`\`\`

The base URL has no trailing slash. Paths are in lower case; one slash at their end is ignored.

## Authentication

A key begins with \`apik_\`. It has access to its own account and to every account below it; anything else returns 404, as if it did not exist. A key has the permissions of the user that it impersonates. Each operation names those that it needs. Changes of a key or a user take effect with the next request.

**Call the API from your server only.** There is no CORS: \`OPTIONS\` returns 404, and a browser shows a page no response. A page can only send the file of a direct upload, from origins that the operators allow.

## Documents

Every document is an envelope with \`type\` and \`data\`. Times are UTC, and ids are ULIDs, which may be sent in lower case. A GET accepts \`include\`, a comma-separated list of related data, which appear under \`associations\`. Each GET has a HEAD, with the same status and headers. Responses have \`Cache-Control: no-store\`, and an \`X-Request-Id\` to state when you report a problem.

A response with one document has an \`ETag\`. Send it as \`If-Match\` with a PATCH or DELETE to change only the version that you have read: if the document has changed since, the response is 412. Send it as \`If-None-Match\` with a GET to read only what has changed: otherwise the response is 304. A GET with an \`If-Match\` that does not list its \`ETag\`, and a PATCH or DELETE with an \`If-None-Match\` that does, also return 412 (RFC 9110). Lists and POSTs ignore both headers.

## Lists

\`first\` with \`after\` pages forward, \`last\` with \`before\` backward. Items are in ascending order of their ids in both directions. To read all, repeat the request with \`after\` set to the response's \`page_info.after\`, until that is null. A query parameter without a value (\`after=\`) returns 422: leave it out. Unknown query parameters are ignored.

## Upload a file

A form has a file of up to ${bytes(limits.fileBytes)}. Let your HTTP client write it:

\`\`\`sh
curl "$URL/api/v1/requests/$ID/attachments" \\
  -H "Authorization: Bearer $KEY" \\
  -H "Idempotency-Key: $(uuidgen)" \\
  -F 'data[name]=Letter of authorization' \\
  -F 'data[file_hint]=LOA' \\
  -F 'data[file]=@loa.pdf;type=application/pdf'
\`\`\`

That sends these bytes. Each line ends with CRLF:

\`\`\`http
POST /api/v1/requests/{request_id}/attachments HTTP/1.1
Host: 127.0.0.1:3000
Authorization: Bearer apik_…
Idempotency-Key: 7c9e6679-7425-40de-944b-e07fc1f90ae7
Content-Type: multipart/form-data; boundary=f1
Content-Length: ${form.replaceAll("\n", "\r\n").length}

${form}\`\`\`

The name of the file is that of its part, or \`data[filename]\`. A client that percent-encodes it (React Native from 0.77 on) sends \`data[filename]\`, because percent signs are part of a name.

A larger file, up to ${bytes(limits.uploadBytes)}, goes directly to storage. Prepare it with \`POST …/uploads\`, send it with the \`method\`, \`url\` and \`headers\` of the response, and create the attachment with \`POST …/uploads/{upload_id}/complete\`.

## Repeating requests

| Response | Repeat it? |
| --- | --- |
| none, 500, 502, 503, 504 | Yes. A GET, PATCH or DELETE has the same effect again. Give a POST an \`Idempotency-Key\`, and repeat it with the same one. |
| 429 | Yes: nothing was done. |
| 412 to a repeated PATCH or DELETE with \`If-Match\` | No: GET the document. The first one may have succeeded. |
| 404 to a repeated DELETE | No: the first one has succeeded. |
| any other 4xx | No: change the request first. |

\`Retry-After\` is ${secondsOf(serviceUnavailable())} seconds for a 503, and ${secondsOf(rateLimited())} or 30 for a 429. Wait that long or, without the header, 1 second, then twice as long each time with a random part, up to a minute. A request takes at most 29 seconds.

An \`Idempotency-Key\` is known for ${limits.idempotencySeconds / 3600} hours. The same key with the same content returns the first response again, with \`Idempotency-Replayed: true\`, even if what it created has been changed or deleted since; with other content, 422. Only POSTs read the header.

## Limits

The operators set how many requests a second the API takes, and how many a key or an address may send in five minutes. Above either, the response is 429. No header states what is left. A JSON body has at most ${bytes(limits.jsonBytes)}, all headers 10,240 bytes.

## Errors

Every error has the same body, \`{"errors": [...]}\`, and lists all problems of the request. Two exceptions, on AWS: a body above 10 MB returns 413 as plain text, so decide by the status; and neither that response nor the 429 of a firewall has an \`X-Request-Id\`.

${errorTable.map(([status, code, reason]) => `- **${status}** ${code}: ${reason}`).join("\n")}

A request that cannot be read as HTTP returns 400, and one whose headers are too large 431, both with the code \`invalid_parameter\` (on AWS, \`payload_too_large\`).

## Events

Every confirmed change is an event. The operators can have them sent to a URL of yours, as the webhooks of this document describe. An event can arrive twice: drop any whose \`detail.id\` you have processed. Events are unordered: the higher \`detail.resource.version\` is newer. A deletion keeps the last version and is final.

Events are not signed. Agree with the operators on a secret, which each request then has in a header that you choose, or as Basic or OAuth authorization. Refuse requests without it. Respond with 2xx within 5 seconds. After a 401, 407, 409, 429, 5xx or no response, the request is repeated for 24 hours, at growing intervals; after any other status, it is not.

## Versions

The version is in the path: \`/api/v1\`. These may be added to it without notice: optional parameters, parts and properties of requests; properties of responses; headers; error codes and sub-codes; types of events. So ignore properties and events that you do not know, and treat an unknown code by its status. Do not parse \`detail\`, an ETag, a cursor or an upload's URL. What a version has is neither removed nor changed in meaning; that takes a new path. \`CHANGELOG.md\` of the project lists every change.
`;
