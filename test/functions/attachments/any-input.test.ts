import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../support/fixtures/any-character.ts";
import { attachmentOf, form, pdf, upload } from "../../support/fixtures/attachments.ts";
import { sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { call, invalidParametersOf, type ReceivedResponse } from "../../support/requests/client.ts";
import { byExtent } from "../../support/setup/extent.ts";

const runs = byExtent({ sample: 10, most: 150, all: 1_000 });

const t = await tenants();
const key = t.key("acme");
const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 300 }),
  fc.string({ unit: anyCharacter, maxLength: 300 }),
);

/** The response is the success or a 422 that names what is wrong. */
const expectSuccessOr422 = (response: ReceivedResponse, success: number) => {
  expect([success, 422]).toContain(response.status);
  if (response.status === 422) expect(invalidParametersOf(response).length).toBeGreaterThan(0);
  expect(response.headers.get("x-request-id")).not.toBeNull();
};

describe.each(sampledParentTypes("order"))("attachments of a %s", (kind) => {
  const path = t.attachments(kind, "acme");

  it("accept or refuse any text as name, notes and filename, and return what was accepted", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyText, anyText, async (name, notes, filename) => {
        const response = await call("POST", path, {
          key,
          body: form({ "data[name]": name, "data[notes]": notes }, pdf(filename)),
        });
        expectSuccessOr422(response, 201);
        // A form carries line ends as CRLF: what FormData sends is what must come back.
        const withCrlf = (text: string) => text.replace(/\r\n|\r|\n/g, "\r\n");
        if (response.status === 201)
          expect(attachmentOf(response)).toMatchObject({ name: withCrlf(name).trim(), notes: withCrlf(notes) || null });
      }),
      { numRuns: runs },
    );
  });

  it("accept or refuse any JSON as an update", async () => {
    const { id } = await upload(path, key);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.jsonValue(),
          fc.record({ type: fc.constant(`${kind}_attachment`), data: fc.jsonValue() }),
          fc.record({
            type: fc.constant(`${kind}_attachment`),
            data: fc.record({ name: anyText, notes: fc.option(anyText) }, { requiredKeys: [] }),
          }),
        ),
        async (json) => {
          const response = await call("PATCH", `${path}/${id}`, { key, json });
          expectSuccessOr422(response, 200);
          if (response.status === 200)
            expect(attachmentOf(await call("GET", `${path}/${id}`, { key }))).toEqual(attachmentOf(response));
        },
      ),
      { numRuns: runs },
    );
  });
});
