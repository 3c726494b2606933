import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attachmentOf, form, pdf, upload } from "../../support/fixtures/attachments.ts";
import { kinds, tenants } from "../../support/fixtures/tenants.ts";
import { type Answered, call, faultsOf } from "../../support/requests/client.ts";
import { byExtent } from "../../support/setup/extent.ts";

const runs = byExtent({ sample: 10, most: 150, all: 1_000 });

const t = await tenants();
const key = t.key("acme");
const unit = fc.oneof(fc.constant("grapheme" as const), fc.constant("binary" as const));
const anyText = unit.chain((u) => fc.string({ unit: u, maxLength: 300 }));

/** Any answer is one of those expected; a refusal names its faults, and nothing is a 5xx. */
const expectAnswered = (answer: Answered, success: number) => {
  expect([success, 422]).toContain(answer.status);
  if (answer.status === 422) expect(faultsOf(answer).length).toBeGreaterThan(0);
  expect(answer.headers.get("x-request-id")).not.toBeNull();
};

describe.each(kinds)("attachments of a %s", (kind) => {
  const path = t.attachments(kind, "acme");

  it("take any text as name, notes and filename, and answer what they took", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyText, anyText, async (name, notes, filename) => {
        const answer = await call("POST", path, {
          key,
          body: form({ "data[name]": name, "data[notes]": notes }, pdf(filename)),
        });
        expectAnswered(answer, 201);
        // A form carries line ends as CRLF: what FormData sends is what must come back.
        const wire = (text: string) => text.replace(/\r\n|\r|\n/g, "\r\n");
        if (answer.status === 201)
          expect(attachmentOf(answer)).toMatchObject({ name: wire(name).trim(), notes: wire(notes) || null });
      }),
      { numRuns: runs },
    );
  });

  it("take any JSON as an update", async () => {
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
          const answer = await call("PATCH", `${path}/${id}`, { key, json });
          expectAnswered(answer, 200);
          if (answer.status === 200)
            expect(attachmentOf(await call("GET", `${path}/${id}`, { key }))).toEqual(attachmentOf(answer));
        },
      ),
      { numRuns: runs },
    );
  });

  it("take any text as a cursor and a size", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("first", "last", "after", "before"), anyText, async (name, value) => {
        expectAnswered(await call("GET", `${path}?${name}=${encodeURIComponent(value.toWellFormed())}`, { key }), 200);
      }),
      { numRuns: runs },
    );
  });

  it("take any text as an id", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyText.filter((text) => text.length > 0),
        async (id) => {
          const answer = await call("GET", `${path}/${encodeURIComponent(id.toWellFormed())}`, { key });
          expect([200, 404]).toContain(answer.status);
        },
      ),
      { numRuns: runs },
    );
  });
});
