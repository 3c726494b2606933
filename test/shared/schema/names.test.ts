import { describe, expect, it } from "vitest";
import { ApiError } from "../../../shared/errors.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { apply } from "../../../shared/tenants/apply.ts";
import { operator } from "../../support/fixtures/apply.ts";
import { form } from "../../support/fixtures/attachments.ts";
import { newSwitch, patch, post } from "../../support/fixtures/switches.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { call, invalidParametersOf, type ReceivedResponse } from "../../support/requests/client.ts";

/** One rule for the names of attachments, switches and accounts, the labels of API keys, and for whom a change is made. */

const t = await tenants();
const key = t.key("acme");
const existing = await newSwitch(key, { name: "Existing" });

/** The problems, each as "body <pointer> <sub_code>". */
type Outcome = readonly string[];

const ofResponse = (response: ReceivedResponse): Outcome =>
  response.status < 300 ? [] : invalidParametersOf(response);

const ofFile = async (file: object): Promise<Outcome> => {
  const error = await apply(file, operator()).catch((caught: unknown) => caught);
  if (!(error instanceof ApiError)) return [];
  return error.body.errors.map(({ source, sub_code }) => `${source?.in} ${source?.pointer} ${sub_code}`);
};

const upload = (name: string) =>
  call("POST", t.attachments("request", "acme"), { key, body: form({ "data[name]": name }) });

/** Every place that takes a name, with the pointer of its problems. */
const places: Readonly<Record<string, readonly [pointer: string, send: (name: string) => Promise<Outcome>]>> = {
  "an attachment": ["/data/name", async (name) => ofResponse(await upload(name))],
  "a new switch": ["/data/name", async (name) => ofResponse(await post(key, { name }))],
  "a switch's new name": ["/data/name", async (name) => ofResponse(await patch(key, existing.id, { name }))],
  "an account": ["/accounts/a/name", (name) => ofFile({ accounts: { a: { id: newId(), name } } })],
  "a key's label": [
    "/keys/k/label",
    (label) => ofFile({ keys: { k: { account: t.account("acme"), user: t.user("ops"), label } } }),
  ],
  "whoever a change is made for": ["/on_behalf_of", (on_behalf_of) => ofFile({ on_behalf_of })],
};

describe.each(Object.entries(places))("the name of %s", (_, [pointer, send]) => {
  it.each([
    ["SOH", "a\u0001b"],
    ["ESC", "\u001b[2Jred"],
    ["a line break", "a\nb"],
    ["DEL", "a\u007f"],
    ["a C1 control", "a\u009b31m"],
    ["a right-to-left override", "a\u202egnp.exe"],
    ["an isolate", "\u2067a\u2069"],
    ["an Arabic letter mark", "a\u061c"],
  ])("has no control character, and none that changes the direction of text: %s", async (__, name) => {
    expect(await send(name)).toEqual([`body ${pointer} constraint.format`]);
  });

  it.each([
    ["zero-width spaces", "\u200b\u200b"],
    ["joiners", "\u200c\u200d"],
    ["a soft hyphen", "\u00ad"],
    ["a Hangul filler", "\u3164"],
    ["variation selectors", "\ufe0f"],
    ["tags", "\u{e0041}"],
    ["a word joiner between spaces", " \u2060 \u3000"],
    ["Braille's blank pattern", "\u2800"],
  ])("is blank without any character that can be seen: %s", async (__, name) => {
    expect(await send(name)).toEqual([`body ${pointer} constraint.required`]);
  });

  it.each([
    ["Persian with a joiner", "می\u200cخواهم"],
    ["a family of joined emoji", "👩\u200d👩\u200d👧 ❤\ufe0f"],
    ["Hebrew", "שלום"],
  ])("may have what scripts need: %s", async (__, name) => {
    expect(await send(`${name} ${crypto.randomUUID()}`)).toEqual([]);
  });
});
