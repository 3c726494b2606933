import { expect, it } from "vitest";
import { limits } from "../../shared/limits.ts";
import { switchesPath } from "../support/fixtures/switches.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { call } from "../support/requests/client.ts";

/** The largest requests that the limits allow. test/shared/schema/limits.test.ts adds them up from the schemas. */

const t = await tenants();
const key = t.key("acme");
/** A text of this many characters, each of two UTF-16 units and four bytes. */
const longest = (length: number, end = "") => "😀".repeat(length - end.length) + end;
/** JSON with an escape of six bytes for each UTF-16 unit that is not ASCII. */
const escaped = (value: unknown) =>
  JSON.stringify(value).replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);

it("creates, changes and returns the largest switch", async () => {
  const channel = (name: string) => ({
    [`${name}_endpoints`]: Array.from({ length: limits.endpoints }, (_, nth) =>
      longest(limits.endpointLength, String(nth)),
    ),
    [`${name}_identity`]: longest(limits.identityLength),
    [`${name}_secret`]: longest(limits.secretLength),
  });
  const data = { name: longest(limits.nameLength), ...channel("sms"), ...channel("mms") };
  const headers = { "content-type": "application/json", "idempotency-key": "~".repeat(limits.idempotencyKey.length) };
  const send = (method: string, path: string) =>
    call(method, path, { key, headers, body: escaped({ type: "switch", data }) });
  const created = await send("POST", switchesPath);
  expect([created.status, created.body]).toMatchObject([201, { data }]);
  const changed = await send("PATCH", `${switchesPath}/${Object(created.body).data.id}`);
  expect([changed.status, changed.body]).toMatchObject([200, { data }]);
});

it.each(["request", "order"] as const)("creates the largest attachment of a %s from a form", async (kind) => {
  const data = {
    name: longest(limits.nameLength),
    notes: longest(limits.notesLength),
    filename: longest(limits.filenameLength, ".pdf"),
  };
  const form = new FormData();
  for (const [name, value] of Object.entries(data))
    form.append(`data[${name}]`, new Blob([escaped(value)], { type: "application/json" }));
  form.append("data[file]", new File([new Uint8Array(limits.fileBytes)], longest(limits.filenameLength)));
  const response = await call("POST", t.attachments(kind, "acme"), { key, body: form });
  expect([response.status, response.body]).toMatchObject([201, { data }]);
});
