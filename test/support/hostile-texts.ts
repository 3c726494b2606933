import * as fc from "fast-check";

/** Texts that have broken something, somewhere, once. */
export const nastyTexts = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "../../etc/passwd",
  "..\\..\\windows",
  "a/b/c",
  "%00%2e%2e%2f",
  "\r\nX-Injected: 1",
  "a\r\n\r\n<script>alert(1)</script>",
  "\u202egnp.exe",
  "\u2066\u2069\u200b\ufeff",
  "раураl.pdf",
  "e\u0301".repeat(300),
  "\ud800",
  "\udfff\ud800",
  "𝕃𝕆𝔸",
  "💣".repeat(128),
  "x".repeat(255),
  "x".repeat(256),
  "x".repeat(70_000),
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "toString",
  "$" + "{jndi:ldap://x}",
  "{{7*7}}",
  "'; DROP TABLE x;--",
  '"\\"',
  "null",
  "undefined",
  "NaN",
  "1e400",
  "-0",
  "9".repeat(400),
  "01ARZ3NDEKTSV4RRFFQ69G5FAV",
  "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
  "ATTACHMENT#",
  "#",
  "*",
];

export const nasty = fc.oneof(
  fc.constantFrom(...nastyTexts),
  fc.string({ unit: "binary", maxLength: 80 }),
  fc.string(),
);

const depth = (open: string, close: string) =>
  fc.integer({ min: 1, max: 20_000 }).map((levels) => open.repeat(levels) + close.repeat(levels));

const properties = ["name", "notes", "file_hint", "id", "filename", "reference_id", "type", "data", "sms_endpoints"];
const switches = ["sms_enabled", "sms_protocol", "sms_secret", "mms_auth_method", "mms_endpoints", "__proto__"];
const property = fc.oneof(fc.constantFrom(...properties, ...switches), nasty);

const number = fc.oneof(
  fc.constantFrom("1e400", "-1e400", "1E+9999", "9".repeat(400), "-0", "0.1e-999", "01", "+1", "0x1", ".5", "Infinity"),
  fc.double().map(String),
);

const value = fc.oneof(
  nasty.map((text) => JSON.stringify(text)),
  nasty.map((text) => `"${text}"`),
  fc.constantFrom('"\\ud800"', '"\\u0000"', '"\\x41"', "true", "null", "[]", "{}", "[[]]"),
  number,
  depth("[", "]"),
  depth('{"a":', "}"),
  fc.json(),
);

const object = fc
  .array(fc.tuple(property, value), { maxLength: 8 })
  .map((pairs) => `{${pairs.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`);

/** JSON that is deep, doubled, polluting, huge, or hardly JSON; some of it in the envelope that a route asks for. */
export const json = (type: string) =>
  fc.oneof(
    object,
    object.map((data) => `{"type":"${type}","data":${data}}`),
    object.map((data) => `{"type":"${type}","data":${data},"data":${data}}`),
    value,
    fc.tuple(object, fc.nat(400)).map(([text, end]) => text.slice(0, end)),
    nasty,
  );
