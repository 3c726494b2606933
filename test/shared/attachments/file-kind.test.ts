import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileKindOf } from "../../../shared/attachments/file-kind.ts";

/** support/fixtures/pdfs/make.py creates the PDFs with qpdf and pypdf, one for each layout and encryption. */

const folder = join(import.meta.dirname, "../../support/fixtures/pdfs");
const pdfs = globSync("*.pdf", { cwd: folder }).sort();
const read = (name: string) => new Uint8Array(readFileSync(join(folder, name)));

const whole = (content: Uint8Array) => fileKindOf({ first: content, last: content, bytes: content.length });
const ends = (content: Uint8Array, size: number) =>
  fileKindOf({ first: content.subarray(0, size), last: content.subarray(-size), bytes: content.length });
const bytes = (...parts: readonly (string | readonly number[])[]) =>
  new Uint8Array(
    Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part)))),
  );
const padding = Array.from({ length: 64 }, () => 0);

describe("the detected type of a file", () => {
  it.each([
    ["PDF", bytes("%PDF-1.7\n"), "application/pdf"],
    ["PDF after a printer's commands", bytes("\x1b%-12345X@PJL JOB\r\n%PDF-1.4\n"), "application/pdf"],
    ["TIFF, little-endian", bytes("II*\0", padding), "image/tiff"],
    ["TIFF, big-endian", bytes("MM\0*", padding), "image/tiff"],
    ["PNG", bytes([0x89], "PNG\r\n\x1a\n", padding), "image/png"],
    ["JPEG", bytes([0xff, 0xd8, 0xff, 0xe0, 0, 16], "JFIF\0", padding), "image/jpeg"],
    ["JPEG without JFIF", bytes([0xff, 0xd8, 0xff, 0xdb], padding), "image/jpeg"],
    ["ZIP", bytes("PK\x03\x04", padding), "application/zip"],
    ["Word 97", bytes([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1], padding), "application/msword"],
    ["BigTIFF", bytes("II+\0", padding), "image/tiff"],
    ["GIF", bytes("GIF89a", padding), "image/gif"],
    ["WebP", bytes("RIFF\x24\0\0\0WEBPVP8 ", padding), "image/webp"],
    ["HEIC", bytes("\0\0\0\x18ftypheic", padding), "image/heic"],
    ["BMP", bytes("BM\x36\x10\0\0\0\0\0\0", padding), "image/bmp"],
    ["MP4", bytes("\0\0\0\x20ftypisom", padding), "video/mp4"],
    ["QuickTime", bytes("\0\0\0\x14ftypqt  ", padding), "video/quicktime"],
    ["GZIP", bytes([0x1f, 0x8b, 8], padding), "application/gzip"],
    ["TAR", bytes("letter.pdf", Array(247).fill(0), "ustar", padding), "application/x-tar"],
    ["PostScript", bytes("%!PS-Adobe-3.0"), "application/postscript"],
    ["RTF", bytes("{\\rtf1\\ansi"), "application/rtf"],
    ["text that begins with G", bytes("Good morning"), null],
    ["text that begins with BM", bytes("BMW, please port my number."), null],
    ["the first half of a signature", bytes([0x89], "PNG"), null],
    ["text", bytes("Dear carrier, please port my number."), null],
    ["text that contains a PDF header later", bytes("x".repeat(2_000), "%PDF-1.7"), null],
    ["one byte", bytes([0]), null],
  ])("is determined by its first bytes: %s", (_, content, detected_type) => {
    expect(whole(content).detected_type).toBe(detected_type);
  });
});

/** A PDF literal string with these bytes, escaped in every way that the standard allows. */
const literal = (hex: string) => {
  const written = (byte: number, index: number) => {
    const character = String.fromCharCode(byte);
    if (index === 5) return `\\\r\n\\${byte.toString(8).padStart(3, "0")}`;
    if (character === "\r") return "\\r";
    if (character === "\n") return index % 2 === 0 ? "\r\n" : "\r";
    return "()\\".includes(character) ? `\\${character}` : character;
  };
  return `(${Array.from(Buffer.from(hex, "hex"), written).join("")})`;
};

describe("whether a PDF requires a password", () => {
  const requiresPassword = (name: string) => name.startsWith("user");
  const expected = (name: string) => ({ detected_type: "application/pdf", encrypted: requiresPassword(name) });
  const shifted = (name: string) => bytes("\x1b%-12345X@PJL\r\n", [...read(name)]);
  const changed = (name: string, from: RegExp, to: string | ((part: string, hex: string) => string)) => {
    const text = Buffer.from(read(name)).toString("latin1");
    const after = typeof to === "string" ? text.replaceAll(from, to) : text.replaceAll(from, to);
    expect(after, name).not.toBe(text);
    return bytes(after);
  };

  it("is tested with PDFs of each kind", () => {
    const named = (kind: string) => pdfs.filter((name) => name.startsWith(kind));
    expect(["plain", "user", "owner", "empty-owner"].map((kind) => named(kind).length)).toEqual([3, 10, 10, 1]);
  });

  it.each(pdfs)("is detected in a whole PDF and in its two ends: %s", (name) => {
    expect(whole(read(name))).toMatchObject(expected(name));
    expect(ends(read(name), 1_280)).toMatchObject(expected(name));
  });

  it.each(pdfs)("is detected with bytes before the header: %s", (name) => {
    expect(whole(shifted(name))).toMatchObject(expected(name));
  });

  it.each(pdfs.filter((name) => !name.includes("linearized")))(
    "is detected with a wrong startxref offset: %s",
    (name) => {
      expect(whole(changed(name, /startxref\s+\d+/g, "startxref\n7"))).toMatchObject(expected(name));
    },
  );

  it.each(pdfs.filter((name) => !/plain(-linear|-object|\.)|object-streams/.test(name)))(
    "is detected with literal strings in parentheses: %s",
    (name) => {
      const content = changed(name, /(?<!<)<([\da-f]{16,})>/g, (_, hex) => literal(hex));
      expect(whole(content)).toMatchObject(expected(name));
    },
  );

  it("is assumed if the encryption dictionary cannot be checked", () => {
    const name = "owner-aes-256.pdf";
    for (const [label, from, to] of [
      ["another security handler", /\/Filter \/Standard/g, "/Filter /Adobe.PubSec"],
      ["a later revision", /\/R 6/g, "/R 7"],
      ["a dictionary that is elsewhere", /\b5 0 obj/g, "9 0 obj"],
      ["a dictionary without a hash", /\/U </g, "/X <"],
      ["a hash that is too short", /\/U <\w+>/g, "/U <00>"],
      ["a hash that does not match", /\/U <\w\w/g, "/U <00"],
    ] as const)
      expect(whole(changed(name, from, to)).encrypted, label).toBe(true);
    for (const [label, from, to] of [
      ["a key without bytes", /\/Length 128/g, "/Length 0"],
      ["a key that is too long", /\/Length 128/g, "/Length 256"],
      ["another identity of the file", /\/ID \[<\w\w/g, "/ID [<00"],
      ["other permissions", /\/P -1028/g, "/P -4"],
    ] as const)
      expect(whole(changed("owner-rc4-128.pdf", from, to)).encrypted, label).toBe(true);
  });

  it("is detected with unsigned permissions", () => {
    expect(whole(changed("owner-rc4-128.pdf", /\/P -1028/g, "/P 4294966268")).encrypted).toBe(false);
  });

  it("is detected in a large PDF with the dictionary at one end, and assumed otherwise", () => {
    const content = bytes("%PDF-1.7\n", Array(3_000).fill(32), [...read("owner-aes-256.pdf")]);
    expect(ends(content, 1_280).encrypted).toBe(false);
    const at = Buffer.from(content).indexOf("5 0 obj");
    const inTheMiddle = bytes([...content.subarray(0, at + 600)], Array(3_000).fill(32), [
      ...content.subarray(at + 600),
    ]);
    expect(ends(inTheMiddle, 1_280).encrypted).toBe(true);
  });

  it("depends on /Encrypt only where it is an entry of the trailer", () => {
    const pdf = (trailer: string, before = "") => {
      const start = `%PDF-1.4\n${before}`;
      return bytes(`${start}xref\n0 1\ntrailer\n${trailer}\nstartxref\n${start.length}\n%%EOF\n`);
    };
    const encryptedOf = (trailer: string, before?: string) => whole(pdf(trailer, before)).encrypted;
    expect(encryptedOf("<< /Size 1 /Encrypt 5 0 R >>")).toBe(true);
    expect(encryptedOf("<</Size 1/Encrypt<</Filter/Standard>>>>")).toBe(true);
    expect(encryptedOf("<< /Size 1 >>", "4 0 obj\n<< >>\nstream\n/Encrypt 5 0 R\nendstream\nendobj\n")).toBe(false);
    expect(encryptedOf("<< /Size 1 /Info << /Encrypt 5 0 R >> >>")).toBe(false);
    expect(encryptedOf("<< /ID [(/Encrypt 5 0 R \\) >> () <00>] >>")).toBe(false);
    expect(encryptedOf("<< /Size 1 % /Encrypt 5 0 R\n >>")).toBe(false);
    expect(encryptedOf("<< /ID [(\\( >>) <3e3e>] /Encrypt 5 0 R >>")).toBe(true);
  });

  it("depends on the word /Encrypt if there is no trailer", () => {
    const content = bytes("%PDF-1.7 signed");
    expect(whole(content)).toEqual({ inspected: true, detected_type: "application/pdf", encrypted: false });
    expect(ends(content, 8).encrypted, "both ends").toBe(false);
    expect(whole(bytes("%PDF-1.7 /Encrypt 5 0 R")).encrypted, "with the word").toBe(true);
  });

  it("is null for other types", () => {
    expect(whole(bytes("II*\0", padding, "trailer << /Encrypt 5 0 R >>")).encrypted).toBeNull();
  });

  it("is detected in linear time in a hostile file", () => {
    const parts = ["startxref", "trailer<<", "<<(", "1 0 obj<<", "<a", "/Encrypt", "0 ".repeat(9), "(", "(\\", "1  "];
    for (const start of ["xref\ntrailer<<", "xref\ntrailer<</Encrypt 1 0 R>>", "xref\ntrailer<</Encrypt<</O "])
      for (const part of parts) {
        const content = bytes("%PDF-1.4\n", start, part.repeat(500_000), "\nstartxref\n9\n");
        expect(whole(content).detected_type, `${start} ${part}`).toBe("application/pdf");
      }
  });
});
