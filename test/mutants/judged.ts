/**
 * Survivors that these tests need not notice, and why. `code` is what a mutant replaces and `mutant` what with, as in the
 * report, so that lines may shift. The first verdict whose properties all match holds.
 */
type Verdict = { readonly file?: string; readonly code?: string; readonly mutant?: string; readonly why: string };

const form = "shared/http/form.ts";
const input = "shared/http/input.ts";
const read = "shared/table/read.ts";
const forward = "shared/checkout/forward.ts";
const run = "shared/checkout/run.ts";
const client = "shared/checkout/carrier-client.ts";

const sameForAnyText = "equivalent: a missing value is refused or ignored like any other that is wrong";
const forTheCompiler = "equivalent: the value is always there, and the check is for the compiler";

export const judged: readonly Verdict[] = [
  { code: '""', mutant: '"Stryker was here!"', why: sameForAnyText },
  {
    file: "shared/table/client.ts",
    why: "settings of the SDK's client, which tests with a hanging table look at",
  },
  { file: read, code: "page.at(index)?.sk", why: forTheCompiler },
  { file: read, mutant: "Responses[table]", why: forTheCompiler },
  { file: read, mutant: "UnprocessedKeys[table]", why: forTheCompiler },
  { file: read, mutant: "items.at(-1).sk", why: forTheCompiler },
  { file: read, code: "key && keys.length === 1", why: "equivalent: one key is read by another call" },
  { file: read, mutant: "attempt -= 1", why: "changes the wait between two attempts only" },
  { file: read, code: "true", mutant: "false", why: "ConsistentRead: the embedded table is always consistent" },
  { file: "shared/table/pages.ts", mutant: "page.at(index).sk", why: forTheCompiler },
  { file: "shared/table/pages.ts", mutant: "kept.at(-1).id", why: forTheCompiler },
  { file: "shared/table/pages.ts", code: "id !== undefined", why: "equivalent: undefined encodes to another cursor" },
  {
    file: "shared/table/pages.ts",
    mutant: "+1",
    why: "equivalent: the page has at most the items that the cursor needs",
  },
  { file: "shared/table/write.ts", mutant: "attempt -= 1", why: "changes the wait between two attempts only" },
  { file: "shared/table/write.ts", mutant: "reasons[index].Code", why: forTheCompiler },
  { file: "shared/table/write.ts", code: "Code !== undefined", why: forTheCompiler },
  { file: "shared/http/endpoint.ts", code: '["json", "query", "nothing"]', why: "equivalent: types only" },
  { file: "shared/http/endpoint.ts", code: '"json"', why: "equivalent: types only" },
  { file: "shared/http/endpoint.ts", code: '"query"', why: "equivalent: types only" },
  { file: "shared/http/endpoint.ts", code: '"nothing"', why: "equivalent: types only" },
  { file: form, code: '["form"]', why: "equivalent: types only" },
  { file: form, code: '"form"', why: "equivalent: types only" },
  { file: form, code: 'reads.from === "form"', why: "equivalent: only forms are read here" },
  { file: form, mutant: "/data\\[(.+)\\]$/", why: "equivalent: the names of parts are known" },
  { file: form, mutant: "/^data\\[(.+)\\]/", why: "equivalent: the names of parts are known" },
  { file: form, mutant: "characters.length < limits.filenameLength", why: "equivalent: cutting 255 characters to 255" },
  { file: input, code: 'reads.from === "json"', mutant: "true", why: "equivalent: a form has no such rules" },
  {
    file: "shared/http/idempotency.ts",
    code: "problems.length === 0",
    why: "equivalent but for a read of a key that is refused",
  },
  {
    file: "shared/http/idempotency.ts",
    code: "account && problems.length === 0",
    why: "equivalent but for a read of a key that is refused",
  },
  { file: "shared/http/request.ts", code: "found === undefined", why: "equivalent: headers[undefined] is undefined" },
  { file: "shared/http/responses.ts", mutant: "response.statusCode", why: forTheCompiler },
  { file: "shared/http/responses.ts", code: "/^W\\//", why: "equivalent: a tag begins with W/ or with a quote" },
  { file: "shared/http/responses.ts", code: '{ ms: "Milliseconds" }', why: "metrics: noticed by test/shared/log" },
  { file: "shared/http/responses.ts", code: '"Milliseconds"', why: "metrics: noticed by test/shared/log" },
  { file: "shared/http/responses.ts", code: '"route"', why: "metrics: noticed by test/shared/log" },
  { file: "shared/deadline.ts", why: "leaves a timer behind, whose error nobody waits for" },
  { file: "shared/switches/access.ts", code: "own === undefined", why: "equivalent: no account has this id" },
  { file: client, mutant: "text.length >= 500", why: "equivalent: the text is cut to 500 characters" },
  { file: client, code: "text.length > 500", why: "equivalent but for what is read of a long body" },
  { file: client, code: 'result.kind !== "refused"', why: "equivalent: no other result has the status 401" },
  { file: client, code: "[]", why: "equivalent: no response has this status" },
  { file: forward, code: 'one.kind === "stop"', why: "equivalent: a stop has no wait, so no other wait is longer" },
  { file: forward, code: 'other.kind === "time"', why: "equivalent: a time has no wait, so it is not longer" },
  { file: forward, code: 'one.kind === "stop" || other.kind === "time"', why: "equivalent, as its two parts" },
  { file: forward, code: "page.consecutive_waits > 0", why: "equivalent but for a write of what is stored" },
  { file: run, mutant: "last.calls_end_by >= callsEndBy", why: "equivalent: the two times are the same" },
  { file: run, code: 'last.status === "SUCCEEDED"', why: "equivalent: the order of such a run is checked out" },
  { file: run, code: '"SUCCEEDED"', why: "equivalent: the order of such a run is checked out" },
  { file: run, mutant: "attempt -= 1", why: "changes the wait between two attempts only" },
  { file: "shared/checkout/seal.ts", mutant: "start <= parents.length", why: "equivalent but for a write of the lock" },
  { file: "shared/checkout/seal.ts", code: "through", why: forTheCompiler },
  { file: "shared/checkout/end.ts", code: "last?.run", why: forTheCompiler },
];
