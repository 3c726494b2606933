import type { FileKind } from "./attachment-schema.ts";

/** The first and last bytes of a file, and its length. For a file in memory, both are the whole file. */
export type FileEnds = { readonly first: Uint8Array; readonly last: Uint8Array; readonly bytes: number };

/** Enough for the signatures of all known types. */
const signatureBytes = 1_024;

/**
 * Media types by the first bytes of their files, one character per byte. `?` matches any byte. The first match counts. Covers
 * documents and images, and the types that callers send instead by mistake. A library for all types adds 21 KB to the bundle, and
 * detects any text that begins with G as a video.
 */
const signatures: Readonly<Record<string, readonly string[]>> = {
  "application/pdf": ["%PDF-"],
  "image/tiff": ["II*\0", "MM\0*", "II+\0", "MM\0+"],
  "image/png": ["\x89PNG\r\n\x1a\n"],
  "image/jpeg": ["\xff\xd8\xff"],
  "image/gif": ["GIF87a", "GIF89a"],
  "image/webp": ["RIFF????WEBP"],
  "image/heic": ["????ftypheic", "????ftypheix", "????ftypheim", "????ftypheis"],
  "image/heic-sequence": ["????ftyphevc", "????ftyphevx", "????ftyphevm", "????ftyphevs"],
  "image/heif": ["????ftypmif1"],
  "image/heif-sequence": ["????ftypmsf1"],
  "image/avif": ["????ftypavif", "????ftypavis"],
  "image/avci": ["????ftypavci", "????ftypavcs"],
  "image/bmp": ["BM????\0\0\0\0"],
  "image/vnd.adobe.photoshop": ["8BPS"],
  "image/jp2": ["\0\0\0\x0cjP  \r\n\x87\n"],
  "application/postscript": ["%!PS-Adobe-"],
  "application/rtf": ["{\\rtf"],
  "application/xml": ["<?xml"],
  // The formats of Word, Excel and PowerPoint up to 2003 begin alike. The later ones begin like any ZIP.
  "application/msword": ["\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"],
  "application/zip": ["PK\x03\x04", "PK\x05\x06"],
  "application/vnd.rar": ["Rar!\x1a\x07"],
  "application/x-7z-compressed": ["7z\xbc\xaf\x27\x1c"],
  "application/gzip": ["\x1f\x8b\x08"],
  "application/x-bzip2": ["BZh"],
  "application/x-tar": [`${"?".repeat(257)}ustar`],
  "video/quicktime": ["????ftypqt  "],
  // The brands that file-type or libmagic detect as videos. The type of any other brand is unknown.
  "video/mp4": [
    ...Array.from("m23456789abc", (version) => `iso${version}`),
    "isml",
    "mp41",
    "mp42",
    "avc1",
    "dash",
    "mmp4",
    "MSNV",
    "M4P ",
    "F4V ",
    "F4P ",
    "niko",
    ...Array.from("CHMPS", (one) => `NDS${one}`),
    ...Array.from("CHMPS", (one) => `NDX${one}`),
  ].map((brand) => `????ftyp${brand}`),
  "video/x-m4v": ["????ftypM4V ", "????ftypM4VH", "????ftypM4VP"],
  "video/3gpp": [...Array.from("eghprs", (profile) => `????ftyp3g${profile}?`)],
  "video/3gpp2": ["????ftyp3g2?"],
  "audio/mp4": ["????ftypM4A ", "????ftypM4B ", "????ftypF4A ", "????ftypF4B "],
  "video/x-matroska": ["\x1aE\xdf\xa3"],
  "video/x-msvideo": ["RIFF????AVI "],
  "audio/x-wav": ["RIFF????WAVE"],
  "audio/mpeg": ["ID3"],
  "audio/flac": ["fLaC"],
  "application/ogg": ["OggS"],
  // A signed document (.p7m) begins with a DER sequence, whose length takes one to five bytes, followed by the identifier of PKCS #7.
  "application/pkcs7-mime": ["?", "??", "???", "????", "?????"].map(
    (length) => `0${length}\x06\x09*\x86H\x86\xf7\r\x01\x07`,
  ),
};

const beginsWith = (start: string, signature: string) =>
  Array.from(signature).every((byte, at) => byte === "?" || byte === start[at]);

const typeOf = (start: string) =>
  Object.entries(signatures).find(([, known]) => known.some((signature) => beginsWith(start, signature)))?.[0];

/** How many bytes at the end of a PDF are searched for `startxref`, the offset of its cross-reference. */
const tailBytes = 65_536;

/** How many bytes from the start of a cross-reference table are searched for its trailer. The table has 20 bytes per object. */
const maxTableBytes = 1_048_576;

/** This is far more than a trailer needs. */
const maxTrailerBytes = 65_536;

/** Detects a file's media type, and whether a PDF is encrypted. For a large file, both ends are enough. */
export const fileKindOf = (file: FileEnds): FileKind => {
  const start = textAt(file, 0, signatureBytes);
  const detected_type = typeOf(start) ?? (hasLaterHeader(file, start) ? "application/pdf" : null);
  if (detected_type !== "application/pdf") return { detected_type, encrypted: null };
  return { detected_type, encrypted: isEncrypted(file, start.indexOf("%PDF-")) };
};

/**
 * PDF readers accept the header anywhere in the first 1,024 bytes, because some programs write other bytes before it. A text can
 * mention the header, so it counts only if it is alone on its line, or if `startxref` is near the end of the file.
 */
const hasLaterHeader = (file: FileEnds, start: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they end a line, or are no text
  /(?:^|^\xef\xbb\xbf|[\0-\x08\n-\x1f])[ \t]*%PDF-\d\.\d+(?![ \t]*[!-$&-~])/.test(start) ||
  (start.includes("%PDF-") && /startxref\s+\d/.test(tailOf(file)));

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength);

/** Returns bytes as text, one character per byte. Leaves out bytes that are not available. */
const textAt = ({ first, last, bytes }: FileEnds, offset: number, length: number): string => {
  const lastAt = bytes - last.length;
  const [part, from] = offset >= lastAt ? [last, offset - lastAt] : [first, offset];
  return asBuffer(part).toString("latin1", from, Math.min(from + length, part.length));
};

const tailOf = (file: FileEnds) => textAt(file, file.bytes - Math.min(tailBytes, file.last.length), tailBytes);

/**
 * Whether the newest trailer of a PDF has an `/Encrypt` entry. The end of the file contains the trailer's offset. If there is no
 * trailer at that offset, or that part of the file is not available, returns whether `/Encrypt` occurs anywhere in the available
 * bytes, or null if it does not and there are others.
 */
const isEncrypted = (file: FileEnds, headerAt: number): boolean | null => {
  const tail = tailOf(file);
  const offset = Number(/^startxref\s+(\d{1,15})/.exec(tail.slice(tail.lastIndexOf("startxref")))?.[1] ?? Number.NaN);
  // Offsets are relative to the header, but some programs count from the beginning of the file.
  const offsets = [...new Set([offset + headerAt, offset])];
  const trailers = offsets.map((from) => trailerOf(textAt(file, from, maxTableBytes)));
  const trailer = trailers.find((found) => found !== undefined);
  if (trailer !== undefined) return hasName(trailer, "/Encrypt");
  const parts = [...new Set([file.first, file.last])];
  const occurs = parts.some((part) => {
    const entries = asBuffer(part).toString("latin1").matchAll(encryptEntry);
    return entries.some(({ groups }) => groups?.null === undefined);
  });
  return occurs || (file.first.length < file.bytes ? null : false);
};

/**
 * Returns the text from the trailer on. The trailer follows a cross-reference table, or is the dictionary of a cross-reference
 * stream. Returns undefined if the text starts with neither. Source: ISO 32000-1, 7.5.4 to 7.5.8.
 */
const trailerOf = (text: string): string | undefined => {
  const start = /^\s*(?:xref\s|\d+\s+\d+\s+obj\s*<<)/.exec(text)?.[0];
  if (!start) return undefined;
  const isStream = start.endsWith("<<");
  const at = isStream ? start.length - 2 : text.indexOf("trailer") + 7;
  const found = text.slice(at, at + maxTrailerBytes).trimStart();
  // A wrong offset can point to another object.
  return found.startsWith("<<") && (!isStream || hasName(found, "/XRef")) ? found : undefined;
};

/**
 * An `/Encrypt` entry, with the blanks, the comments and the null that may follow. The search goes on after them, because a search
 * from each name in these comments would take time in proportion to the square of their length.
 */
const encryptEntry =
  /\/Encrypt(?![^\s()<>[\]{}/%])(?<null>(?:[\s\0]|%[^\r\n]{0,255}[\r\n])*null(?![^\s\0()<>[\]{}/%]))?/g;

/** The tokens by which `hasName` finds a dictionary's entries. Strings and comments may contain any of them. */
const token = /\\[^\r\n]|[()%\r\n]|<<|>>|\/[^\s()<>[\]{}/%]*/g;

const nullValue = /(?:[\s\0]|%[^\r\n]{0,255}[\r\n])*null(?![^\s\0()<>[\]{}/%])/y;

/** Whether null follows. An entry of null equals none (ISO 32000-1, 7.3.9). */
const isNull = (text: string, from: number): boolean => {
  nullValue.lastIndex = from;
  return nullValue.test(text);
};

/**
 * Whether the dictionary at the start of a text has this name as a value, or as a key of anything but null. Ignores the
 * dictionaries inside it.
 */
const hasName = (text: string, name: string): boolean => {
  let [depth, inStrings, inComment] = [0, 0, false];
  for (const { 0: found, index } of text.matchAll(token)) {
    if (inComment) inComment = !/[\r\n]/.test(found);
    else if (found === "(") inStrings += 1;
    else if (found === ")") inStrings -= 1;
    else if (inStrings > 0) continue;
    else if (found === "%") inComment = true;
    else if (found === "<<") depth += 1;
    else if (found === ">>") depth -= 1;
    else if (depth === 1 && found === name && !isNull(text, index + found.length)) return true;
    if (depth === 0) return false;
  }
  return false;
};
