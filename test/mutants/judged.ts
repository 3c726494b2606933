/**
 * Survivors that these tests need not notice, and why, by their files. The first part of a verdict is a part of the survivor's
 * line in the report: `code` → `mutant`; " … " stands for anything. The first verdict that fits holds.
 */
export type Verdict = readonly [survivor: string, why: string];

const sameForAnyText = "equivalent: a missing value is refused or ignored like any other that is wrong";
const forTheCompiler = "equivalent: the value is always there, and the check is for the compiler";
const typesOnly = "equivalent: types only";
const waitOnly = "changes the wait between two attempts only";
const oneOfTwo = "equivalent: only the other one of the two texts is asked for";
const onlyInBundles = "only a bundle has a source map: noticed by test/infra/aws/bundles";
const onePlaceholder = "equivalent: one function names a placeholder here and where it is replaced";
const signature = "what Lambda's signature is made of: the local Lambda accepts any";
const inTheTemplate = "what a function may do: noticed by test/infra/aws/permissions";
const partsOfForms = "noticed by test/functions/attachments/create";
const manyFiles = "needs more than 1,000 files, which npm run test:faults has";
const secondHash = "equivalent but for a second hash of the file";
const middleware = "only the order or the name of the SDK's middleware";
const readsAgain = "equivalent but for another read of what is stored";

/** In any file. */
export const judgedAnywhere: readonly Verdict[] = [
  ['`""` → `"Stryker was here!"`', sameForAnyText],
  ['`[]` → `["Stryker was here"]`', "no mistake of anybody: a text in an empty list of items, which the types refuse"],
];

export const judged: Readonly<Record<string, readonly Verdict[]>> = {
  "functions/checkout/fail.ts": [["`{ Error: z.string() }`", "noticed by test/shared/checkout/failure"]],
  "functions/checkout/release-lock.ts": [["`false` → `true`", "only what the log says of a run that is not locked"]],
  "functions/checkout/workflow.ts": [
    ['`"checkout/"` →', onePlaceholder],
    ["/-(", onePlaceholder],
    ["letter", onePlaceholder],
  ],
  "functions/tenants/apply.ts": [
    ["`Date.now() - now.getTime()`", "only the time in a log"],
    ["`error.status >= 500`", "only the level of a log line"],
  ],
  "shared/attachments/attachments.ts": [
    ["`failed.final` → `true`", "noticed by test/faults/late-commit"],
    [".type}_attachment` → ", "only the type in the 404 of an attachment that is deleted during its change"],
    ["`idempotency !== undefined`", "needs a repeated request whose first one is in progress"],
    ["`first` → `false`", "equivalent but for a write: its condition finds the same"],
    ["`idempotency?.created` → `false`", "equivalent but for a write: its condition finds the same"],
    ["`!attachment` → `false`", "needs a delete during a change"],
    ["`{ version: latest.version }`", "needs a change during a delete"],
    ["`failed.size === 0` → `true`", "needs a change during a delete"],
    ["`latest.reference_id === null`", "equivalent: deletes an entry that does not exist"],
    ["`{ exists: false }`", "equivalent: no other attachment has a new id"],
  ],
  "shared/attachments/file-keys.ts": [
    ["?.[1].replaceAll`", forTheCompiler],
    ["→ `/attachments", "equivalent: only objects below attachments/ are listed"],
    ['`"request"` →', oneOfTwo],
  ],
  "shared/attachments/files.ts": [
    ["clientSettings", "noticed by test/faults/every-fault"],
    ['`{ step: "finalizeRequest"', "noticed by test/faults/deadline, whose first test creates the client"],
    ['"limit', middleware],
    ['ize"', middleware],
    ['Request"` →', middleware],
    ['"low"` →', middleware],
    ["eaders", secondHash],
    ['"build"', secondHash],
    ["`!first || !last` →", "needs a delete between two reads at once"],
    ["last.content.length", "only the local storage refuses the range of a shorter file"],
    ["→ `endBytes + 1`", "equivalent but for two more bytes"],
    ["response.output", forTheCompiler],
    ["has no stream", forTheCompiler],
    ["Readable", forTheCompiler],
    ["found.ContentRange.split`", forTheCompiler],
    ["`-1` →", manyFiles],
    ["after !==", manyFiles],
    ["`false` → `true`", "equivalent: S3 always says whether there are more"],
  ],
  "shared/attachments/sweep.ts": [
    ["→ `(options.remainingMs?.() ?? Number.POSITIVE_INFINITY) <= reserveMs`", "equivalent but for one millisecond"],
    [">= graceMs", "equivalent but for one millisecond"],
    ["`files > 0` →", "equivalent but for a write of each empty day"],
    ["`{ exists: false }` →", "needs two first sweeps at once"],
    ['`"sweep"` →', "needs two first sweeps at once"],
    ["`!oldest` →", readsAgain],
    ["→ `oldest >= own`", "equivalent: the two days are the same"],
    ["→ `start <= old.length`", "equivalent: an empty batch has no orphans"],
    ["files.at(-1)", manyFiles],
    ["`-1` →", manyFiles],
    ["`!isLate()` →", "needs more than 1,000 files of a day, and no time left"],
    ["after !==", manyFiles],
    ["after ===", "needs more than 1,000 files of a day, and no time left"],
    ["`record` →", "equivalent but for a delete of what does not exist"],
  ],
  "shared/attachments/forwarding.ts": [
    [
      "`requests.map(({ state }) => state).sort",
      "noticed where the least advanced request is not the first: ids of one millisecond are random",
    ],
    ["`!parent.forwarded`", "equivalent but for a read"],
  ],
  "shared/attachments/attachment-schema.ts": [
    ["input === undefined", "only the wording of a detail"],
    ["must be a file", "only the wording of a detail"],
  ],
  "shared/attachments/routes.ts": [
    ['Item"', inTheTemplate],
    ['Object"', inTheTemplate],
    ['"Query"', inTheTemplate],
    ["files: []", inTheTemplate],
    ['"type"', partsOfForms],
    ["data[$", partsOfForms],
  ],
  "shared/attachments/file-kind.ts": [
    ["→ `/startxref", "equivalent: the text begins with the last startxref, or has none"],
  ],
  "shared/attachments/uploads.ts": [
    ["`idempotency?.created` → `false`", "equivalent but for a write: its condition finds the same"],
    ["`{ exists: false }`", "equivalent: no other upload has a new id"],
    ['`"idempotency"` →', "needs two requests with one key at once"],
    ["winner", "needs two requests with one key at once"],
    ["`true` → `false`", "needs two requests with one key at once"],
    ['`upload.state === "claimed" && !repeatable` → `false`', "equivalent but for a read: the claim fails as well"],
    ['`"claimed"` →', "needs a repeated request whose first one is in progress"],
    ["`!repeatable` → `repeatable`", "needs a repeated request whose first one is in progress"],
  ],
  "shared/checkout/carrier-client.ts": [
    ["→ `text.length >= 500`", "equivalent: the text is cut to 500 characters"],
    ["`text.length > 500` →", "equivalent but for what is read of a long body"],
    ['`result.kind !== "refused"` →', "equivalent: no other result has the status 401"],
    ["`[]` →", "equivalent: no response has this status"],
    ['`"retry"` →', "equivalent: it is the last of the three kinds"],
    ["`!(error instanceof Error)`", forTheCompiler],
  ],
  "shared/checkout/carrier-form.ts": [
    ["`{ cause: error }`", "the cause in a log"],
    ["`{ await source.return(undefined); }`", "leaves a stream open that ends with its call"],
  ],
  "shared/checkout/carrier-function.ts": [
    ['`"POST"` →', signature],
    ["`{ host }` →", signature],
    ['`"lambda"` →', signature],
  ],
  "shared/checkout/carrier.ts": [
    ["`true` → `false`", "matters only if the attachment is deleted during the call"],
    ["`false` → `true`", "matters only if the attachment is deleted during the call"],
    ["`in_flight_until !== null` → `true`", forTheCompiler],
  ],
  "shared/checkout/end.ts": [
    ["`last?.run` →", forTheCompiler],
    ['`{ equals: { state: "CART" } }`', "equivalent: the condition on the run fails as well"],
    ['`{ state: "CART" }`', "equivalent: the condition on the run fails as well"],
    ["`failed.size === 0` → `false`", readsAgain],
    ['`"request"` →', oneOfTwo],
  ],
  "shared/checkout/forward-attachment.ts": [
    ["`error instanceof ApiError && error.status === 503` →", "equivalent: S3 throws no other ApiError"],
    ["`error.status === 503` →", "equivalent: S3 throws no other ApiError"],
    ['`"wait"` →', "equivalent: the receipt has changed, so that its next try is not written"],
  ],
  "shared/checkout/forward.ts": [
    ['`one.kind === "stop"` →', "equivalent: a stop has no wait, so no other wait is longer"],
    ['`other.kind === "time"` →', "equivalent: a time has no wait, so it is not longer"],
    ['`one.kind === "stop" || other.kind === "time"` →', "equivalent, as its two parts"],
    ["`page.consecutive_waits > 0` →", "equivalent but for a write of what is stored"],
    ['`"stop"` →', "equivalent: a stop has no wait, so no other wait is longer"],
    ['`"time"` →', "equivalent: a time has no wait, so it is not longer"],
    ["`ending` → `false`", "equivalent but for reads: no call follows the end"],
  ],
  "shared/checkout/plan.ts": [["`through !== undefined`", "equivalent: no id is after undefined"]],
  "shared/checkout/receipts.ts": [
    ['`state === "pending"`', forTheCompiler],
    ['`"pending"` →', forTheCompiler],
  ],
  "shared/checkout/checkout-run.ts": [
    ["→ `last.calls_end_by >= callsEndBy`", "equivalent: the two times are the same"],
    ['`last.status === "SUCCEEDED"` →', "equivalent: the order of such a run is checked out"],
    ['`"SUCCEEDED"` →', "equivalent: the order of such a run is checked out"],
    ["→ `attempt -= 1`", waitOnly],
    ["`locked` → `false`", readsAgain],
    ["`failed.size === 0` → `false`", readsAgain],
  ],
  "shared/checkout/seal.ts": [
    ["→ `start <= parents.length`", "equivalent but for a write of the lock"],
    ["`through` →", forTheCompiler],
    ['`"request"` →', oneOfTwo],
  ],
  "shared/deadline.ts": [["", "leaves a timer behind, whose error nobody waits for"]],
  "shared/errors.ts": [
    ['`"not_found"` →', "noticed by test/infra/local/gateway: an unknown route"],
    ["`type === undefined` → `false`", "noticed by test/infra/local/gateway: an unknown route"],
    ['`"Bearer"` →', "noticed by test/functions/every-route"],
    ['`"1"` →', "noticed by test/infra/local/gateway"],
    ['`"2"` →', "noticed by test/faults/every-fault"],
    ["`{ cause }` → `{}`", "the cause in a log"],
    ['`"ApiError"` →', "the name in a log"],
    ["`resource.id !== undefined` → `true`", "needs an item of an earlier version"],
    ["error.code", "equivalent: a number does not match either"],
    ["ERR_STREAM", "equivalent for the codes of Node.js"],
  ],
  "shared/history/publish.ts": [["→ `Entries[index].EventId`", forTheCompiler]],
  "shared/http/endpoint.ts": [
    ['`["json", "query", "nothing"]` →', typesOnly],
    ['`"json"` →', typesOnly],
    ['`"query"` →', typesOnly],
    ['`"nothing"` →', typesOnly],
    ["`idempotencyKey?.problems ?? []`", "noticed by test/functions/attachments/idempotency"],
  ],
  "shared/http/form.ts": [
    ['`["form"]` →', typesOnly],
    ['`"form"` →', typesOnly],
    ['`reads.from === "form"` →', "equivalent: only forms are read here"],
    ["→ `/data\\[(.+)\\]$/`", "equivalent: the names of parts are known"],
    ["→ `/^data\\[(.+)\\]/`", "equivalent: the names of parts are known"],
    ["→ `characters.length < limits.filenameLength`", "equivalent: cutting 255 characters to 255"],
    ["[0].trim`", forTheCompiler],
  ],
  "shared/http/idempotency.ts": [
    ["`problems.length === 0` →", "equivalent but for a read of a key that is refused"],
    ["`account && problems.length === 0` →", "equivalent but for a read of a key that is refused"],
  ],
  "shared/http/input.ts": [
    ['`reads.from === "json"` → `true`', "equivalent: a form has no such rules"],
    ['`"utf8"` →', "equivalent: the default of Buffer.from"],
    ['`"query"` →', "noticed by test/functions/attachments/list"],
    ['`"body"` →', "noticed by test/functions/attachments/create"],
    ["`{ input: z.parse(reads.schema, undefined), compared: undefined }`", "equivalent: both are undefined"],
  ],
  "shared/http/request.ts": [["`found === undefined` →", "equivalent: headers[undefined] is undefined"]],
  "shared/http/responses.ts": [
    ["→ `response.statusCode`", forTheCompiler],
    ["`/^W\\//` →", "equivalent: a tag begins with W/ or with a quote"],
    ['`{ ms: "Milliseconds" }` →', "metrics: noticed by test/shared/log"],
    ['`"Milliseconds"` →', "metrics: noticed by test/shared/log"],
    ['`"route"` →', "metrics: noticed by test/shared/log"],
    ['(?:\\.[\\w-]+)?"/`', "equivalent: each tag ends with its second quote"],
  ],
  "shared/log.ts": [
    ["`{ print = output; }`", "noticed by test/infra/local/terminal"],
    ["`{ const file =", onlyInBundles],
    ["map`", onlyInBundles],
    ["`!map", onlyInBundles],
    ["import.meta.url", onlyInBundles],
    ['`"utf8"`', onlyInBundles],
    ["rigin", onlyInBundles],
    ['`"fileName"`', onlyInBundles],
    ["`/(file:", onlyInBundles],
  ],
  "shared/schema/check.ts": [
    ["Invalid input", "equivalent: the message of zod/mini is exactly this"],
    [
      '`other.sub_code === "constraint.type"` → `true`',
      "equivalent: two problems in one place are a wrong type and its length",
    ],
  ],
  "shared/schema/fields.ts": [["innerType", "equivalent: no schema of ours has another schema inside"]],
  "shared/switches/access.ts": [["`own === undefined` →", "equivalent: no account has this id"]],
  "shared/switches/read.ts": [
    ["`{ const entries = await Array.fromAsync", "only the CLI uses it: noticed by test/infra/admin"],
    ["`(entry) => parseItem(Entry, entry).id`", "only the CLI uses it: noticed by test/infra/admin"],
    ["→ `(await withIncluded([one], include))[0].included`", forTheCompiler],
    ["→ `(await loaded).account.id`", "equivalent: without the account, the access check throws first"],
    ["→ `(await apiKey).account`", "equivalent: without the key, the access check throws first"],
    ["item !== undefined", "equivalent: what cannot be parsed is left out"],
  ],
  "shared/switches/routes.ts": [
    ['Item"', inTheTemplate],
    ['"Query"', inTheTemplate],
    ["files: []", inTheTemplate],
  ],
  "shared/switches/switch-schema.ts": [
    ["→ `/https?:", "equivalent: the rule before it has the same beginning"],
    ['`host !== ""` → `true`', "equivalent: an empty label is refused, too"],
    ["→ `endpoints.length`", forTheCompiler],
    ['`"NONE"` →', forTheCompiler],
  ],
  "shared/switches/switches.ts": [
    ["→ `by.switch`", forTheCompiler],
    ["`idempotency?.created` → `false`", "equivalent but for a write: its condition finds the same"],
    ["`{ exists: false }`", "equivalent: no other switch has a new id"],
    ['`"idempotency"` →', "needs two requests with one key at once"],
    ['`"switch"` →', "only the type in the 404 of a switch that is deleted during its change"],
  ],
  "shared/table/client.ts": [["", "settings of the SDK's client, which tests with a hanging table look at"]],
  "shared/table/keys.ts": [['`"request"` →', oneOfTwo]],
  "shared/table/pages.ts": [
    ["→ `page.at(index).sk`", forTheCompiler],
    ["→ `kept.at(-1).id`", forTheCompiler],
    ["`id !== undefined` →", "equivalent: undefined encodes to another cursor"],
    ["→ `+1`", "equivalent: the page has at most the items that the cursor needs"],
    ['`"down"` →', oneOfTwo],
  ],
  "shared/table/read.ts": [
    ["`page.at(index)?.sk` →", forTheCompiler],
    ["→ `Responses[table]`", forTheCompiler],
    ["→ `UnprocessedKeys[table]`", forTheCompiler],
    ["→ `items.at(-1).sk`", forTheCompiler],
    ["`key && keys.length === 1` →", "equivalent: one key is read by another call"],
    ["→ `attempt -= 1`", waitOnly],
    ["`true` → `false`", "ConsistentRead: the embedded table is always consistent"],
    ["`{ let start: Record", "noticed by test/infra/admin/apply: all items of the table"],
    ["`{ const command = new ScanCommand", "noticed by test/infra/admin/apply: all items of the table"],
    ["`{ TableName: env.tableName(), // Without", "noticed by test/infra/admin/apply: all items of the table"],
    ["`response.Items ?? []` →", "noticed by test/infra/admin/apply: all items of the table"],
    ["`start` → `false`", "needs a table of more than 1,000 items: `admin check`"],
    ["`{ const command = new GetCommand", "equivalent: one key is read by another call"],
  ],
  "shared/table/write.ts": [
    ["→ `attempt -= 1`", waitOnly],
    ["→ `reasons[index].Code`", forTheCompiler],
    ["`Code !== undefined` →", forTheCompiler],
  ],
  "shared/tenants/apply.ts": [
    ["`{ cause }` → `{}`", "the cause in a log"],
    ["attempt -= 1", waitOnly],
    ["`!account` →", forTheCompiler],
    ["`failure.cause`", "needs a write that fails after the reads have succeeded"],
    ['`{ exists: true, equals: of("from") }`', "needs another change between the plan and its write"],
    ["`generated === undefined` → `false`", "equivalent: JSON leaves out undefined"],
    ["→ `order.account`", "equivalent: an owner without an order is refused before"],
    ['`{ equals: { state: "CART" } }`', "needs a checkout between the plan and its write"],
    ['`{ state: "CART" }`', "needs a checkout between the plan and its write"],
  ],
  "shared/tenants/file.ts": [
    ["{ io:", "equivalent: no entry has a default"],
    ['`"input"` →', "equivalent: no entry has a default"],
    ["typeof value", forTheCompiler],
    ['`"body"` →', "noticed by test/functions/tenants/apply"],
    ["must be a SHA-256", "only the wording of a detail"],
  ],
  "shared/tenants/orders.ts": [["`!request ||", "needs a request without its order or its account"]],
  "shared/tenants/references.ts": [
    ['`"CART"` →', "needs a checkout between the two transactions that create an order and its request"],
    ["`name === undefined` → `false`", forTheCompiler],
    ["typeof raw.id", "equivalent: no other id is read as a ULID"],
    ["to === section", "equivalent but for reads of what does not exist"],
    ["file.accounts.get(name).entry`", forTheCompiler],
    ['`section === "keys"` → `true`', "equivalent: other sections have no hashes"],
    ["`id === undefined` → `false`", "equivalent: no reference is undefined"],
  ],
  "shared/tenants/tenant-schema.ts": [
    ["`/:[^:]*$/`", "equivalent: a permission has one colon"],
    ["`true` → `false`", "noticed by test/infra/admin/commands: the account of a request in a list"],
  ],
};
