import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileKindOf } from "../../../shared/attachments/file-kind.ts";

/** support/fixtures/pdfs/make.py creates the PDFs with qpdf and pypdf, in each layout. */

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
    ...Object.entries({
      "image/heic": ["heim", "heis"],
      "image/heic-sequence": ["hevc", "hevx", "hevm", "hevs"],
      "image/heif-sequence": ["msf1"],
      "image/avif": ["avis"],
      "image/avci": ["avci", "avcs"],
      "video/mp4": ["isom", "iso6", "mp42", "avc1", "dash", "MSNV", "NDXC"],
      "video/x-m4v": ["M4V "],
      "video/3gpp": ["3gp4", "3ge6"],
      "video/3gpp2": ["3g2a"],
      "audio/mp4": ["M4A ", "F4B "],
      null: ["abcd", "XAVC", "\0\0\0\0", "    ", "HEIC", "iso", "isoz"],
    }).flatMap(([type, brands]) =>
      brands.map((brand): [string, Uint8Array, string | null] => [
        `ftyp ${brand}`,
        bytes(`\0\0\0\x20ftyp${brand}\0\0\0\0mif1isomheic`),
        type === "null" ? null : type,
      ]),
    ),
    ["QuickTime", bytes("\0\0\0\x14ftypqt  ", padding), "video/quicktime"],
    ["GZIP", bytes([0x1f, 0x8b, 8], padding), "application/gzip"],
    ["TAR", bytes("letter.pdf", Array(247).fill(0), "ustar", padding), "application/x-tar"],
    ["PostScript", bytes("%!PS-Adobe-3.0"), "application/postscript"],
    ["RTF", bytes("{\\rtf1\\ansi"), "application/rtf"],
    ["BigTIFF, big-endian", bytes("MM\0+", padding), "image/tiff"],
    ["GIF of 1987", bytes("GIF87a", padding), "image/gif"],
    ["HEIC of 10 bits", bytes("\0\0\0\x18ftypheix", padding), "image/heic"],
    ["HEIF", bytes("\0\0\0\x18ftypmif1", padding), "image/heif"],
    ["AVIF", bytes("\0\0\0\x18ftypavif", padding), "image/avif"],
    ["Photoshop", bytes("8BPS", padding), "image/vnd.adobe.photoshop"],
    ["JPEG 2000", bytes([0, 0, 0, 12], "jP  \r\n", [0x87], "\n", padding), "image/jp2"],
    ["XML", bytes("<?xml version='1.0'?>"), "application/xml"],
    ["ZIP without files", bytes("PK\x05\x06", padding), "application/zip"],
    ["RAR", bytes("Rar!\x1a\x07", padding), "application/vnd.rar"],
    ["7-Zip", bytes("7z", [0xbc, 0xaf, 0x27, 0x1c], padding), "application/x-7z-compressed"],
    ["bzip2", bytes("BZh9", padding), "application/x-bzip2"],
    ["Matroska", bytes([0x1a, 0x45, 0xdf, 0xa3], padding), "video/x-matroska"],
    ["AVI", bytes("RIFF\x24\0\0\0AVI ", padding), "video/x-msvideo"],
    ["WAV", bytes("RIFF\x24\0\0\0WAVE", padding), "audio/x-wav"],
    ["MP3", bytes("ID3", padding), "audio/mpeg"],
    ["FLAC", bytes("fLaC", padding), "audio/flac"],
    ["Ogg", bytes("OggS", padding), "application/ogg"],
    ["text that begins with G", bytes("Good morning"), null],
    ["text that begins with BM", bytes("BMW, please port my number."), null],
    ["the first half of a signature", bytes([0x89], "PNG"), null],
    ["text", bytes("Dear carrier, please port my number."), null],
    ["PDF after a byte order mark", bytes("\xef\xbb\xbf%PDF-1.4\n"), "application/pdf"],
    ["PDF after blanks", bytes("  \t%PDF-1.4 \n"), "application/pdf"],
    ["PDF after a MacBinary header", bytes(Array(128).fill(0), "%PDF-1.10%\xe2\xe3"), "application/pdf"],
    ["PDF after a text on its line", bytes("junk %PDF-1.4\n1 0 obj\nstartxref\n0\n%%EOF\n"), "application/pdf"],
    ["text that mentions a PDF header", bytes("A file must begin with %PDF-1.7, or it is refused.\n"), null],
    ["text that mentions it at its end", bytes("A file must begin with %PDF-1.7\n"), null],
    ["text that mentions it at the beginning of a line", bytes("Note:\n%PDF-1.7 is how it must begin.\n"), null],
    ["text that mentions it without a version", bytes("Note:\n%PDF-\n"), null],
    ["program that reads PDFs", bytes('if (start === "%PDF-") return last.indexOf("startxref");\n'), null],
    ...["", "\x81\xff", "\x82\x10\0", "\x83\x01\0\0", "\x84\0\x01\0\0", "\x80"].map(
      (length): [string, Uint8Array, string | null] => [
        `P7M with the length ${JSON.stringify(length)}`,
        bytes(`0${length || "\x70"}\x06\x09*\x86H\x86\xf7\r\x01\x07\x02\xa0\n%PDF-1.7\n`, "startxref\n0\n%%EOF\n"),
        "application/pkcs7-mime",
      ],
    ),
    ["text that contains a PDF header later", bytes("x".repeat(2_000), "%PDF-1.7"), null],
    ["one byte", bytes([0]), null],
  ])("is determined by its first bytes: %s", (_, content, detected_type) => {
    expect(whole(content).detected_type).toBe(detected_type);
  });
});

describe("whether a PDF is encrypted", () => {
  const expected = (name: string) => ({ detected_type: "application/pdf", encrypted: !name.startsWith("plain") });
  const changed = (name: string, from: RegExp, to: string) => {
    const text = Buffer.from(read(name)).toString("latin1");
    expect(text, name).toMatch(from);
    return bytes(text.replaceAll(from, to));
  };
  const object = "4 0 obj\n<< >>\nstream\n/Encrypt 5 0 R\nendstream\nendobj\n";
  /** Whether a PDF with this trailer is detected as encrypted, in the whole file and in its two ends. */
  const encryptedOf = (trailer: string, { before = "", header = "%PDF-1.4\n", shift = 0 } = {}) => {
    const offset = header.length - header.indexOf("%") + before.length + shift;
    const content = bytes(header, before, `xref\n0 1\ntrailer\n${trailer}\nstartxref\r\n${offset}\n%%EOF\n`);
    return [whole(content).encrypted, ends(content, 50_000).encrypted];
  };

  it("is tested with PDFs of each kind", () => {
    const named = (kind: string) => pdfs.filter((name) => name.startsWith(kind)).length;
    expect(["plain", "user", "owner"].map(named)).toEqual([3, 2, 4]);
  });

  it.each(pdfs)(
    "is detected in a whole PDF, in its two ends and with a wrong offset, with a password or not: %s",
    (name) => {
      expect(whole(read(name))).toMatchObject(expected(name));
      expect(ends(read(name), 1_280)).toMatchObject(expected(name));
      expect(whole(bytes("\x1b%-12345X@PJL\r\n", [...read(name)]))).toMatchObject(expected(name));
      expect(whole(changed(name, /startxref\s+\d+/g, "startxref\n7"))).toMatchObject(expected(name));
    },
  );

  it.each([
    ["<< /Size 1 /Encrypt 5 0 R >>", true],
    ["<</Size 1/Encrypt<</Filter/Standard>>>>", true],
    ["<< /Size 1 /Info << /Encrypt 5 0 R >> >>", false],
    ["<< /Size 1 /EncryptMetadata false >>", false],
    ["<< /ID [(/Encrypt 5 0 R \\) >> () <00>] >>", false],
    ["<< /Size 1 % /Encrypt 5 0 R (\n >>", false],
    ["<< /ID [(\\( >> (()) %) <3e3e>] % >>\n /Encrypt 5 0 R >>", true],
    ["<< /Size 1 % >> >>\n /Encrypt 5 0 R >>", true],
    ["<< /Size 1 >> << /Encrypt 5 0 R >>", false],
    ["<< /Encrypt null /Size 1 >>", false],
    ["<</Encrypt\0\r\n%c /Encrypt 5 0 R\r null>>", false],
    ["<< /Encrypt null/Encrypt 5 0 R >>", true],
    ["<< /Encrypt nullx >>", true],
  ])("depends on an entry of the trailer: %j is %s", (trailer, encrypted) => {
    expect(encryptedOf(trailer)).toEqual([encrypted, encrypted]);
  });

  it("depends on a long entry", () => {
    expect(encryptedOf(`<< /Encrypt ${"3".repeat(33_000)} 0 R >>`)).toEqual([true, true]);
  });

  it.each([
    ["before the trailer", {}],
    ["long before it", { before: `${object}${" ".repeat(99_000)}` }],
    ["after a printer's commands", { header: "@PJL\n%PDF-1.4\n" }],
    ["with an offset from the first byte", { header: "@PJL\n%PDF-1.4\n", shift: 5 }],
    ["with the offset of a line break", { shift: -1 }],
  ])("does not depend on what else contains /Encrypt, %s", (_, more) => {
    expect(encryptedOf("<< /Size 1 >>", { before: object, ...more })).toEqual([false, false]);
  });

  it("does not depend on it before a cross-reference stream either", () => {
    const start = "%PDF-1.7\n4 0 obj\n(/Encrypt 5 0 R)\nendobj\n";
    const stream = "12  10  obj \n<< /Type /XRef /Size 1 >>\nstream\nendstream\nendobj\n";
    expect(whole(bytes(start, stream, `startxref\n${start.length}\n%%EOF\n`)).encrypted).toBe(false);
  });

  it("depends on the name /Encrypt anywhere if there is no trailer", () => {
    expect(whole(bytes("%PDF-1.7 signed"))).toMatchObject({ detected_type: "application/pdf", encrypted: false });
    expect(whole(bytes("%PDF-1.7 /Encrypt 5 0 R")).encrypted, "with the name").toBe(true);
    expect(whole(bytes("%PDF-1.7 /EncryptMetadata")).encrypted, "with another name").toBe(false);
    expect(whole(bytes("%PDF-1.7 /Encrypt\nnull /Size 1")).encrypted, "with null").toBe(false);
    expect(whole(bytes("%PDF-1.7 /Encrypt null /Encrypt 5 0 R")).encrypted, "with null and a value").toBe(true);
    expect(ends(bytes("%PDF-1.7 /Encrypt 5 0 R", padding), 30).encrypted, "at one end").toBe(true);
    const other = (trailer: string) =>
      bytes(`%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n${trailer}\nstartxref\n9\n%%EOF`);
    expect(whole(other("<< /Encrypt 5 0 R >>")).encrypted, "if the offset is another object's").toBe(true);
    expect(whole(other("<< /Size 1 >>")).encrypted, "without the name").toBe(false);
    expect(encryptedOf("", { before: object }), "if the trailer is no dictionary").toEqual([true, true]);
  });

  it("is null if the trailer is not in what was read, and the name is not either", () => {
    const padded = bytes([...read("user-aes-256.pdf")], Array(200_000).fill(0));
    expect(ends(padded, 100).encrypted).toBeNull();
    expect(whole(padded).encrypted, "in the whole file").toBe(true);
    expect(whole(bytes([...read("plain.pdf")], Array(200_000).fill(0))).encrypted, "in a plain file").toBe(false);
  });

  it("is null for other types", () => {
    expect(whole(bytes("II*\0", padding, "trailer << /Encrypt 5 0 R >>")).encrypted).toBeNull();
  });

  it("is detected in linear time in a hostile file", () => {
    const parts = [
      "startxref",
      "trailer<<",
      "<<(",
      "1 0 obj<<",
      "/Encrypt",
      "/Encrypt%",
      "/Encrypt ",
      "/",
      "0 ".repeat(9),
      "(",
      "(\\",
      "%",
      " ",
    ];
    for (const start of ["", "xref\ntrailer<<", "xref\n", "1 0 obj<<"])
      for (const part of parts) {
        const content = bytes("%PDF-1.4\n", start, part.repeat(1_000_000 / part.length), "\nstartxref\n9\n");
        expect(whole(content).detected_type, `${start} ${part}`).toBe("application/pdf");
      }
  });
});
