import { createCipheriv, hash } from "node:crypto";
import type { FileKind } from "./schema.ts";

/** The first and the last bytes of a file, and its length. Of a file in memory, both are the whole file. */
export type FileEnds = { readonly first: Uint8Array; readonly last: Uint8Array; readonly bytes: number };

/** Enough for the signatures of all known types. */
const signatureBytes = 1_024;

/**
 * The first bytes of files, one character per byte; `?` matches any byte. Covers documents and images, and what callers send
 * instead by mistake. A library for all types adds 21 KB to the bundle, and detects any text that begins with G as a video.
 */
const signatures: readonly (readonly [start: string, type: string])[] = [
  ["%PDF-", "application/pdf"],
  ["II*\0", "image/tiff"],
  ["MM\0*", "image/tiff"],
  ["II+\0", "image/tiff"],
  ["MM\0+", "image/tiff"],
  ["\x89PNG\r\n\x1a\n", "image/png"],
  ["\xff\xd8\xff", "image/jpeg"],
  ["GIF87a", "image/gif"],
  ["GIF89a", "image/gif"],
  ["RIFF????WEBP", "image/webp"],
  ["????ftypheic", "image/heic"],
  ["????ftypheix", "image/heic"],
  ["????ftypmif1", "image/heif"],
  ["????ftypavif", "image/avif"],
  ["BM????\0\0\0\0", "image/bmp"],
  ["8BPS", "image/vnd.adobe.photoshop"],
  ["\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"],
  ["%!PS-Adobe-", "application/postscript"],
  ["{\\rtf", "application/rtf"],
  ["<?xml", "application/xml"],
  // The formats of Word, Excel and PowerPoint up to 2003 begin alike. The later ones begin like any ZIP.
  ["\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/msword"],
  ["PK\x03\x04", "application/zip"],
  ["PK\x05\x06", "application/zip"],
  ["Rar!\x1a\x07", "application/vnd.rar"],
  ["7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"],
  ["\x1f\x8b\x08", "application/gzip"],
  ["BZh", "application/x-bzip2"],
  [`${"?".repeat(257)}ustar`, "application/x-tar"],
  ["????ftypqt  ", "video/quicktime"],
  ["????ftyp", "video/mp4"],
  ["\x1aE\xdf\xa3", "video/x-matroska"],
  ["RIFF????AVI ", "video/x-msvideo"],
  ["RIFF????WAVE", "audio/x-wav"],
  ["ID3", "audio/mpeg"],
  ["fLaC", "audio/flac"],
  ["OggS", "application/ogg"],
];

const beginsWith = (start: string, signature: string) =>
  start.length >= signature.length && Array.from(signature).every((byte, at) => byte === "?" || byte === start[at]);

/** How far from the end of a PDF `startxref`, the offset of its cross-reference, is searched for. */
const tailBytes = 65_536;

/**
 * How far after the beginning of a cross-reference table its trailer is searched for. The table has 20 bytes per object.
 */
const maxTrailerBytes = 1_048_576;

/** How much of a dictionary is read: far more than a trailer or the standard security handler needs. */
const maxDictionaryBytes = 65_536;

/** Detects a file's media type, and whether a PDF requires a password. Of a large file, both ends are enough. */
export const fileKindOf = (file: FileEnds): FileKind => {
  const start = textAt(file, 0, signatureBytes) ?? "";
  const known = signatures.find(([signature]) => beginsWith(start, signature))?.[1];
  // PDF readers accept the header anywhere in the first 1,024 bytes, because some programs write other bytes before it.
  const detected_type = known ?? (start.includes("%PDF-") ? "application/pdf" : null);
  if (detected_type !== "application/pdf") return { inspected: true, detected_type, encrypted: null };
  return { inspected: true, detected_type, encrypted: isEncrypted(file, Math.max(0, start.indexOf("%PDF-"))) };
};

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength);

/** Returns bytes as text, one character each, or undefined if they are not available. */
const textAt = ({ first, last, bytes }: FileEnds, offset: number, length: number): string | undefined => {
  const text = (of: Uint8Array, from: number) =>
    asBuffer(of).toString("latin1", from, Math.min(from + length, of.length));
  const lastAt = bytes - last.length;
  if (offset >= lastAt && offset < bytes) return text(last, offset - lastAt);
  return offset < first.length ? text(first, offset) : undefined;
};

/**
 * Whether a PDF requires a password to be opened. A password that only restricts printing or editing does not count. Also
 * true if the newest trailer has an entry Encrypt that cannot be evaluated, because its dictionary is not available or the
 * security handler is not the standard one. If no trailer is available, the name of the entry anywhere in the bytes decides.
 */
const isEncrypted = (file: FileEnds, headerAt: number): boolean => {
  const trailer = newestTrailer(file, headerAt);
  if (!trailer) return [file.first, file.last].some((part) => asBuffer(part).includes("/Encrypt"));
  const [encrypt] = /^\s*(?:\d+\s+\d+\s+R\b|<<[\s\S]*)/.exec(trailer.get("Encrypt") ?? "") ?? [];
  if (encrypt === undefined) return false;
  const dictionary = encrypt.trimStart().startsWith("<<") ? encrypt : objectAt(file, encrypt);
  return dictionary === undefined || !opensWithoutPassword(entriesOf(dictionary), trailer.get("ID"));
};

/**
 * Returns the entries of the newest trailer, whose offset is at the end of the file. A trailer is a separate dictionary, or
 * that of a cross-reference stream. Source: ISO 32000-1, 7.5.5 to 7.5.8.
 */
const newestTrailer = (file: FileEnds, headerAt: number): Entries | undefined => {
  const tail = textAt(file, Math.max(0, file.bytes - tailBytes, file.bytes - file.last.length), tailBytes) ?? "";
  const offset = Number(/^startxref\s+(\d+)/.exec(tail.slice(tail.lastIndexOf("startxref")))?.[1] ?? Number.NaN);
  // Offsets are relative to the header, but some programs count from the beginning of the file.
  const offsets = Number.isNaN(offset) ? [] : [offset + headerAt, offset];
  const texts = offsets.map((from) => textAt(file, from, maxTrailerBytes) ?? "");
  const trailer = [...texts.map(trailerAtStart), lastTrailer(tail)].find((found) => found !== undefined);
  return trailer === undefined ? undefined : entriesOf(trailer);
};

/** Returns the text from the trailer's dictionary on, if the text starts with a cross-reference table or stream. */
const trailerAtStart = (text: string): string | undefined => {
  const stream = /^\s*\d+\s+\d+\s+obj\s*(?=<<)/.exec(text);
  if (stream) return text.slice(stream[0].length);
  return /^\s*xref\s/.test(text) ? afterKeyword(text, text.indexOf("trailer")) : undefined;
};

/** Finds the last trailer of either form. Programs that repair files use it if the offset is wrong. */
const lastTrailer = (tail: string): string | undefined => {
  const keyword = tail.lastIndexOf("trailer");
  const stream = [...tail.matchAll(/\d\s+obj\s*(?=<<[\s\S]{0,1024}?\/Type\s*\/XRef\b)/g)].at(-1);
  return stream && stream.index > keyword ? tail.slice(stream.index + stream[0].length) : afterKeyword(tail, keyword);
};

const afterKeyword = (text: string, at: number): string | undefined => {
  const keyword = at === -1 ? undefined : /^trailer\s*(?=<<)/.exec(text.slice(at));
  return keyword?.[0] === undefined ? undefined : text.slice(at + keyword[0].length);
};

/**
 * Returns the text from the dictionary on that a reference such as `5 0 R` names: the newest available one. The
 * dictionary of Encrypt is never in an object stream.
 */
const objectAt = ({ first, last }: FileEnds, reference: string): string | undefined => {
  const [number, generation] = reference.trim().split(/\s+/);
  const start = new RegExp(`(?<!\\d)${number}\\s+${generation}\\s+obj\\s*(?=<<)`, "g");
  for (const part of [last, first]) {
    const text = asBuffer(part).toString("latin1");
    let end: number | undefined;
    for (const { 0: found, index } of text.matchAll(start)) end = index + found.length;
    if (end !== undefined) return text.slice(end);
  }
  return undefined;
};

/** The entries of a dictionary: names, and their values as text. */
type Entries = ReadonlyMap<string, string>;

/** The tokens of a dictionary that matter here. Strings and comments may contain any of the others. */
const token = /<<|>>|\/[^\s()<>[\]{}/%]*|\((?:[^\\()]|\\[\s\S])*|\)|<[\da-fA-F\s]*>|%[^\r\n]*/g;

/** Returns the entries of the dictionary that a text starts with, without those of nested dictionaries. */
const entriesOf = (text: string): Entries => {
  const entries = new Map<string, string>();
  let [depth, inString] = [0, 0];
  let entry: { readonly name: string; readonly valueAt: number } | undefined;
  const endEntry = (at?: number) =>
    entry && entries.set(entry.name, text.slice(entry.valueAt, at ?? maxDictionaryBytes));
  for (const { 0: found, index } of text.slice(0, maxDictionaryBytes).matchAll(token)) {
    if (found.startsWith("(")) inString += 1;
    else if (found === ")") inString = Math.max(0, inString - 1);
    else if (inString > 0) continue;
    else if (found === "<<") depth += 1;
    else if (found === ">>" && depth === 1) {
      endEntry(index);
      return entries;
    } else if (found === ">>") depth -= 1;
    else if (depth === 1 && found.startsWith("/")) {
      // A name directly after the entry's name is its value.
      if (entry && text.slice(entry.valueAt, index).trim() === "") continue;
      endEntry(index);
      entry = { name: found.slice(1), valueAt: index + found.length };
    }
  }
  endEntry();
  return entries;
};

/** Returns a string, or the first of an array, as bytes. A string is `<28BF…>`, or `(…)` with escapes. */
const bytesOf = (value = ""): Buffer => {
  const hex = /^[\s[]*<([\da-f\s]*)>/i.exec(value)?.[1];
  if (hex !== undefined) return Buffer.from(hex.replaceAll(/\s/g, ""), "hex");
  const parts = /^[\s[]*\(/.test(value) ? value.matchAll(/\\(?:\r\n|[0-7]{1,3}|[\s\S])|\r\n?|[\s\S]/g) : [];
  let [depth, bytes] = [0, ""];
  for (const [part] of parts) {
    if (part === ")") depth -= 1;
    if (part === ")" && depth === 0) break;
    if (depth > 0) bytes += unescaped(part);
    if (part === "(") depth += 1;
  }
  return Buffer.from(bytes, "latin1");
};

const unescaped = (part: string): string => {
  const after = part.slice(1);
  if (part.startsWith("\r")) return "\n";
  if (!part.startsWith("\\")) return part;
  if (/^[0-7]/.test(after)) return String.fromCharCode(Number.parseInt(after, 8));
  return { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", "\n": "", "\r": "", "\r\n": "" }[after] ?? after;
};

/**
 * Whether the standard security handler opens the file with an empty password; false if that is unknown. Source: ISO
 * 32000-2, 7.6.4.
 */
const opensWithoutPassword = (encrypt: Entries, id: string | undefined): boolean => {
  if (encrypt.get("Filter")?.trim() !== "/Standard") return false;
  const [owner, user] = [bytesOf(encrypt.get("O")), bytesOf(encrypt.get("U"))];
  const revision = Number(encrypt.get("R"));
  if (revision === 5 || revision === 6) {
    const hashed = revision === 5 ? sha256 : hardenedHash;
    const matches = (stored: Uint8Array, more: Uint8Array) =>
      stored.length >= 48 && equal(hashed(stored.subarray(32, 40), more), stored.subarray(0, 32));
    return matches(user, new Uint8Array()) || matches(owner, user.subarray(0, 48));
  }
  const bits = keyBits(encrypt, revision);
  if (bits === undefined || owner.length < 32 || user.length < 32) return false;
  const fileId = bytesOf(id);
  const key = keyWithoutPassword(encrypt, owner.subarray(0, 32), fileId, bits / 8);
  if (revision === 2) return equal(rc4(key, passwordPadding), user.subarray(0, 32));
  let check: Uint8Array = md5(passwordPadding, fileId);
  for (let round = 0; round < 20; round += 1) {
    const ofRound = key.map((byte) => byte ^ round);
    check = rc4(ofRound, check);
  }
  return equal(check, user.subarray(0, 16));
};

/** The length of the encryption key, in revisions before AES-256; undefined if the dictionary is inconsistent. */
const keyBits = (encrypt: Entries, revision: number): number | undefined => {
  if (revision === 2) return 40;
  if (revision === 4) return 128;
  const bits = Number(encrypt.get("V")) === 1 ? 40 : Number(encrypt.get("Length") ?? 40);
  return revision === 3 && bits >= 40 && bits <= 128 && bits % 8 === 0 ? bits : undefined;
};

/** The encryption key of an empty password, in revisions before AES-256: ISO 32000-2, algorithm 2. */
const keyWithoutPassword = (encrypt: Entries, owner: Uint8Array, fileId: Uint8Array, length: number): Uint8Array => {
  const revision = Number(encrypt.get("R"));
  const permissions = Buffer.alloc(4);
  permissions.writeInt32LE(Number(encrypt.get("P")) | 0);
  const plainMetadata = revision === 4 && encrypt.get("EncryptMetadata")?.trim() === "false";
  const more = Buffer.alloc(plainMetadata ? 4 : 0, 0xff);
  let key = md5(passwordPadding, owner, permissions, fileId, more).subarray(0, length);
  for (let round = 0; revision > 2 && round < 50; round += 1) key = md5(key).subarray(0, length);
  return key;
};

/** The bytes that passwords are padded with. An empty password consists of them alone. */
const passwordPadding = Buffer.from("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a", "hex");

const equal = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0;
const md5 = (...parts: readonly Uint8Array[]) => hash("md5", Buffer.concat(parts), "buffer");
const sha256 = (...parts: readonly Uint8Array[]) => hash("sha256", Buffer.concat(parts), "buffer");

/** The hash of an empty password, for AES-256: ISO 32000-2, algorithm 2.B. */
const hardenedHash = (salt: Uint8Array, user: Uint8Array): Uint8Array => {
  let key: Uint8Array = sha256(salt, user);
  let last = 0;
  for (let round = 0; round < 64 || last > round - 32; round += 1) {
    const repeated = Buffer.concat(Array.from({ length: 64 }, () => [key, user]).flat());
    const cipher = createCipheriv("aes-128-cbc", key.subarray(0, 16), key.subarray(16, 32)).setAutoPadding(false);
    const encrypted = cipher.update(repeated);
    const sum = encrypted.subarray(0, 16).reduce((total, byte) => total + byte, 0);
    key = hash(["sha256", "sha384", "sha512"][sum % 3] ?? "", encrypted, "buffer");
    last = encrypted.at(-1) ?? 0;
  }
  return key.subarray(0, 32);
};

/** RC4: OpenSSL 3 does not provide it by default. */
const rc4 = (key: Uint8Array, data: Uint8Array): Uint8Array => {
  const state = Uint8Array.from({ length: 256 }, (_, index) => index);
  const at = (index: number) => state[index & 255] ?? 0;
  const swap = (one: number, other: number) => {
    [state[one & 255], state[other & 255]] = [at(other), at(one)];
  };
  let other = 0;
  for (let one = 0; one < 256; one += 1) {
    other += at(one) + (key[one % key.length] ?? 0);
    swap(one, other);
  }
  other = 0;
  return data.map((byte, index) => {
    other += at(index + 1);
    swap(index + 1, other);
    return byte ^ at(at(index + 1) + at(other));
  });
};
