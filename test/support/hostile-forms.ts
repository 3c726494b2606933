import * as fc from "fast-check";
import { nasty, nastyTexts } from "./hostile-texts.ts";

/** Multipart bodies that no browser would send. */
export type HostileForm = { readonly contentType: string; readonly body: Buffer };

const names = ["data[file]", "data[name]", "data[notes]", "data[reference_id]", "data[filename]", "type", "__proto__"];
const name = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: nasty });

const disposition = fc.tuple(name, fc.option(nasty), fc.nat(5)).map(([field, filename, form]) => {
  const plain = `form-data; name="${field}"`;
  if (filename === null) return plain;
  if (form === 0) return `${plain}; filename*=UTF-8''${encodeURIComponent(filename.toWellFormed())}`;
  if (form === 1) return `${plain}; filename*=UTF-16''%ff%fe; filename=${filename}`;
  if (form === 2) return `form-data; filename="${filename}"; name=${field}; name="${field}"`;
  return `${plain}; filename="${filename}"`;
});

const extraHeader = fc.constantFrom(
  "Content-Type: application/pdf",
  "Content-Type: multipart/mixed; boundary=inner",
  "Content-Type: text/plain; charset=utf-7",
  "Content-Type: text/plain; charset=nonsense",
  "Content-Type: \u0000/\u0000",
  "Content-Transfer-Encoding: base64",
  "Content-Transfer-Encoding: nonsense",
  "Content-Disposition: attachment",
  `X-Long: ${"x".repeat(20_000)}`,
  `${"X".repeat(300)}: 1`,
  ": nothing",
  "no colon",
  "\u0000",
  Array.from({ length: 200 }, (_, index) => `X-${index}: 1`).join("\r\n"),
);

const content = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  nasty.map((text) => Buffer.from(text)),
  fc
    .constantFrom("--inner\r\n\r\nx\r\n--inner--", "\r\n--", "\r\n--b", "\r\n--b\r", "--b--", "\r".repeat(500))
    .map(Buffer.from),
);

const part = fc
  .tuple(disposition, fc.array(extraHeader, { maxLength: 2 }), content, fc.nat(9))
  .map(([value, extra, bytes, oddity]) => {
    const headers = oddity === 0 ? extra : [`Content-Disposition: ${value}`, ...extra];
    const end = oddity === 1 ? "\n\n" : oddity === 2 ? "\r\n" : "\r\n\r\n";
    return Buffer.concat([Buffer.from(headers.join("\r\n") + end), bytes]);
  });

const boundaries = ["b", "----WebKitFormBoundary", "'()+_,-./:=?", "x".repeat(70), "x".repeat(2_000), "a b", "ü", ""];

const assemble = (boundary: string, parts: readonly Buffer[]) =>
  Buffer.concat([
    ...parts.flatMap((bytes, index) => [Buffer.from(`${index === 0 ? "" : "\r\n"}--${boundary}\r\n`), bytes]),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);

const contentType = (boundary: string, form: number) => {
  if (form === 0) return "multipart/form-data";
  if (form === 1) return `multipart/form-data; boundary=${boundary}; boundary=other`;
  if (form === 2) return `multipart/form-data; charset=utf-8; boundary="${boundary}`;
  return `multipart/form-data; boundary="${boundary}"`;
};

const damage = (body: Buffer, kind: number, at: number): Buffer => {
  const where = body.length === 0 ? 0 : at % body.length;
  if (kind === 0) return body.subarray(0, where);
  if (kind === 1) return body.subarray(where);
  if (kind === 2) return Buffer.concat([body.subarray(0, where), Buffer.from([at & 255]), body.subarray(where + 1)]);
  if (kind === 3) return Buffer.concat([body.subarray(0, where), body]);
  return body;
};

export const forms: fc.Arbitrary<HostileForm> = fc
  .record({
    boundary: fc.oneof(fc.constant("b"), fc.constantFrom(...boundaries)),
    form: fc.nat(12),
    parts: fc.array(part, { maxLength: 6 }),
    kind: fc.nat(12),
    at: fc.nat(),
  })
  .map(({ boundary, form, parts, kind, at }) => ({
    contentType: contentType(boundary, form),
    body: damage(assemble(boundary, parts), kind, at),
  }));

const field = (header: string, text = "x") => Buffer.from(`Content-Disposition: form-data; ${header}\r\n\r\n${text}`);
const whole = (...parts: readonly Buffer[]) => ({ contentType: contentType("b", 9), body: assemble("b", parts) });
const good = [field('name="data[name]"', "LOA"), field('name="data[file]"; filename="a.pdf"', "%PDF")];

/** Too large or too particular for a generator. */
export const formCorpus: readonly HostileForm[] = [
  whole(...Array.from({ length: 10_000 }, () => field('name="x"'))),
  whole(...Array.from({ length: 10_000 }, (_, index) => field(`name="data[file]"; filename="${index}"`))),
  whole(field(`name="data[name]"; x="${"x".repeat(1_000_000)}"`)),
  whole(field('name="data[notes]"', "x".repeat(3_000_000))),
  whole(field('name="data[file]"; filename="a"', "x".repeat(5_000_000))),
  whole(Buffer.from(`\r\n${"x".repeat(70_000)}`), ...good),
  whole(Buffer.from("\r\n".repeat(500_000))),
  whole(Buffer.from("X: 1\r\n".repeat(300_000))),
  { contentType: contentType("b", 9), body: Buffer.from("--b\r\n".repeat(200_000)) },
  { contentType: contentType("b", 9), body: Buffer.alloc(2_000_000, "\r\n-") },
  { contentType: `multipart/form-data; ${"a=b; ".repeat(20_000)}boundary=b`, body: assemble("b", good) },
  { contentType: `multipart/form-data; boundary=${'"'.repeat(10_000)}`, body: assemble("b", good) },
  ...nastyTexts.map((text) => whole(...good.slice(0, 1), field(`name="data[file]"; filename="${text}"`))),
  ...Array.from({ length: 150 }, (_, end) => ({
    contentType: contentType("b", 9),
    body: assemble("b", good).subarray(0, end),
  })),
];
