import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileKindOf } from "../../../shared/attachments/file-kind.ts";

/** The PDFs in support/fixtures/pdfs are qpdf's, of one page: plain or encrypted, in each form that a PDF can have. */

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

describe("the type of a file", () => {
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
    ["text", bytes("Dear carrier, please port my number."), null],
    ["text that speaks of PDFs later on", bytes("x".repeat(2_000), "%PDF-1.7"), null],
    ["one byte", bytes([0]), null],
  ])("is what its first bytes say: %s", (_, content, detected_type) => {
    expect(whole(content).detected_type).toBe(detected_type);
  });
});

describe("whether a file is encrypted", () => {
  it("has PDFs of both kinds to look at", () => {
    expect(pdfs.filter((name) => name.startsWith("plain"))).toHaveLength(3);
    expect(pdfs.filter((name) => name.startsWith("encrypted"))).toHaveLength(4);
  });

  it.each(pdfs)("is known of a whole PDF, and from both its ends: %s", (name) => {
    const content = read(name);
    const expected = { detected_type: "application/pdf", encrypted: !name.startsWith("plain") };
    expect(whole(content)).toMatchObject(expected);
    expect(ends(content, 1_024)).toMatchObject(expected);
  });

  it.each(pdfs)("is known with something before the header, and where the offset is wrong: %s", (name) => {
    const content = read(name);
    const expected = { detected_type: "application/pdf", encrypted: !name.startsWith("plain") };
    expect(whole(bytes("\x1b%-12345X@PJL\r\n", [...content]))).toMatchObject(expected);
    const text = Buffer.from(content).toString("latin1");
    if (!name.includes("linearized"))
      expect(whole(bytes(text.replace(/startxref\s+\d+/, "startxref\n7")))).toMatchObject(expected);
  });

  it("does not follow the word where it is no entry of the trailer", () => {
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

  it("is not so for a whole PDF without a trailer, as nothing in it asks for a password", () => {
    const content = bytes("%PDF-1.7 signed");
    expect(whole(content)).toEqual({ inspected: true, detected_type: "application/pdf", encrypted: false });
    expect(ends(content, 8).encrypted, "of which only the ends are at hand").toBeNull();
    expect(whole(bytes("%PDF-1.7 /Encrypt 5 0 R")).encrypted, "which may be damaged").toBeNull();
  });

  it("is not known of what is no PDF", () => {
    expect(whole(bytes("II*\0", padding, "trailer << /Encrypt 5 0 R >>")).encrypted).toBeNull();
  });

  it("takes no longer for a hostile file", () => {
    for (const part of ["startxref", "trailer<<", "<<(", "1 0 obj<<", "<a", "/Encrypt", "0 ".repeat(9)]) {
      const content = bytes("%PDF-1.4\n", "xref\ntrailer<<", part.repeat(500_000), "\nstartxref\n9\n");
      expect(whole(content).detected_type, part).toBe("application/pdf");
    }
  });
});
