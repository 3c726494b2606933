import { expect, it } from "vitest";
import * as z from "zod/mini";
import { changeable, metadataExample } from "../../shared/attachments/attachment-schema.ts";
import { settingsExample } from "../../shared/switches/switch-schema.ts";
import { attachmentOf, form, upload } from "../support/fixtures/attachments.ts";
import { newSwitch, patch, post, switchesPath, switchOf } from "../support/fixtures/switches.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { call, invalidParametersOf, type ReceivedResponse } from "../support/requests/client.ts";
import { byExtent, sampleOf } from "../support/setup/extent.ts";

/** A PATCH stores, or refuses, a value as a create does, however it is written. */

const stride = byExtent({ sample: 3, most: 1, all: 1 });
const t = await tenants();
const key = t.key("acme");

const spellings = (text: string) => [
  text,
  ` ${text}`,
  `\t${text}\r\n`,
  `\u00a0${text}\ufeff`,
  text.toUpperCase(),
  text.toLowerCase(),
  `${text}\u200b`,
];

const variantsOf = (value: unknown): readonly unknown[] => {
  if (typeof value === "boolean") return [value, !value, String(value)];
  if (!Array.isArray(value)) return value === null ? ["", " x "] : spellings(String(value));
  return value.flatMap((one) => spellings(String(one)).map((spelling) => [spelling]));
};

const Data = z.looseObject({ data: z.record(z.string(), z.unknown()) });

/** What is stored of a property, or why it is refused. */
const outcomeOf = (response: ReceivedResponse, name: string) =>
  response.status < 300 ? z.parse(Data, response.body).data[name] : invalidParametersOf(response);

const settings = {
  ...settingsExample,
  sms_protocol: "SMTP",
  sms_endpoints: ["mx.example.com:25", "ops@example.com"],
  mms_protocol: "MM4",
  mms_endpoints: ["mm4.example.com:25"],
};

it.each(sampleOf(Object.entries(settings), stride))("of a switch: %s", async (name, value) => {
  // It is in another account, where the name is free.
  const { id } = await newSwitch(
    key,
    { ...settings, name: crypto.randomUUID() },
    `/api/v1/accounts/${t.account("east")}/switches`,
  );
  for (const variant of variantsOf(value)) {
    const created = await post(key, { ...settings, name: crypto.randomUUID(), [name]: variant });
    if (created.status === 201) await call("DELETE", `${switchesPath}/${switchOf(created).id}`, { key });
    const patched = await patch(key, id, { [name]: variant });
    expect(outcomeOf(patched, name), JSON.stringify(variant)).toEqual(outcomeOf(created, name));
  }
});

const metadata = { ...metadataExample, filename: "Loa.pdf" };

it.each(sampleOf(Object.entries(metadata), stride))("of an attachment: %s", async (name, value) => {
  const path = t.attachments("request", "acme");
  const other = await upload(path, key);
  for (const variant of spellings(value)) {
    const created = await call("POST", path, { key, body: form({ [`data[${name}]`]: variant }) });
    // What cannot change is compared as a create would store it.
    const isOwn = created.status === 201 && !Object.hasOwn(changeable, name);
    const { id } = isOwn ? attachmentOf(created) : other;
    const json = { type: "request_attachment", data: { [name]: variant } };
    const patched = await call("PATCH", `${path}/${id}`, { key, json });
    const refused = [`body /data/${name} constraint.immutable`];
    const expected = created.status === 201 || Object.hasOwn(changeable, name) ? outcomeOf(created, name) : refused;
    expect(outcomeOf(patched, name), JSON.stringify(variant)).toEqual(expected);
    if (isOwn) await call("DELETE", `${path}/${id}`, { key });
  }
});
