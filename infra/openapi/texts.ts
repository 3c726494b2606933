import { errorCodes } from "../../shared/errors.ts";
import { reasons } from "./refusals.ts";

const statusOf = new Map(errorCodes.map(({ code, status }) => [code, status]));
const codes = Object.entries(reasons)
  .map(([code, reason]) => `| ${statusOf.get(code)} | \`${code}\` | ${reason} |`)
  .join("\n");

/** What the reference says at its top. */
export const description = `Patchbay keeps supporting files (attachments) for number orders and for the requests within them, and the configurations (switches) by which inbound SMS and MMS messages are delivered.

## Authentication

Every request carries \`Authorization: Bearer <API key>\`. A key sees its own account and every account below it; anything else is answered as if it did not exist.

## Documents

Every document is an envelope of \`type\` and \`data\`. A single document comes with an \`ETag\`; sent back as \`If-Match\`, it makes sure that nothing is changed or deleted that has changed since. Every answer carries an \`X-Request-Id\`.

## Lists

Lists are paged by cursors: \`first\` with \`after\` goes forward, \`last\` with \`before\` goes back; the two do not mix. The order is by id, ascending, in both directions.

## Errors

Every error has the same body, \`{"errors": [...]}\`, and names all that is wrong at once.

| Status | Code | When |
| --- | --- | --- |
${codes}
`;
