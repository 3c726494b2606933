import { filetypeinfo } from "magic-bytes.js";
import type { FileKind } from "./schema.ts";

/** What is at hand of a file: all of it twice, or its first and its last kilobytes; and its length. */
export type FileEnds = { readonly first: Uint8Array; readonly last: Uint8Array; readonly bytes: number };

/** As much as the signatures of all known types need. */
const signatureBytes = 1_024;

/** Where the end of a PDF, with the offset of its cross-reference, is looked for. */
const tailBytes = 65_536;

/** A cross-reference table has 20 bytes for each object, and the trailer comes after it. */
const trailerWithin = 1_048_576;

/** What a file's bytes say: its media type, and whether a PDF is encrypted. For the large files, both ends are enough. */
export const fileKindOf = (file: FileEnds): FileKind => {
  const start = textAt(file, 0, signatureBytes) ?? "";
  const known = filetypeinfo(file.first.subarray(0, signatureBytes)).find(({ mime }) => mime !== undefined)?.mime;
  // PDF readers accept a header anywhere in the first 1,024 bytes: some programs write something before it.
  const detected_type = known ?? (start.includes("%PDF-") ? "application/pdf" : null);
  if (detected_type !== "application/pdf") return { inspected: true, detected_type, encrypted: null };
  const encrypted = isEncrypted(file, Math.max(0, start.indexOf("%PDF-"))) ?? withoutTrailer(file);
  return { inspected: true, detected_type, encrypted };
};

/** Only a trailer can ask for a password; but of a large file it may be where nobody has looked. */
const withoutTrailer = ({ first, bytes }: FileEnds): false | null =>
  first.length === bytes && !Buffer.from(first.buffer, first.byteOffset, bytes).includes("/Encrypt") ? false : null;

/** Bytes as text, one character each; undefined where they are not at hand. */
const textAt = ({ first, last, bytes }: FileEnds, offset: number, length: number): string | undefined => {
  const text = (of: Uint8Array, from: number) =>
    Buffer.from(of.buffer, of.byteOffset, of.byteLength).toString("latin1", from, Math.min(from + length, of.length));
  const lastAt = bytes - last.length;
  if (offset >= lastAt && offset < bytes) return text(last, offset - lastAt);
  return offset < first.length ? text(first, offset) : undefined;
};

/**
 * Whether a PDF is encrypted: whether the newest trailer, which the end of the file leads to, has an entry Encrypt; null
 * where no trailer is at hand. ISO 32000-1, 7.5.5 to 7.5.8: a trailer is a dictionary of its own, or that of a
 * cross-reference stream.
 */
const isEncrypted = (file: FileEnds, headerAt: number): boolean | null => {
  const tail = textAt(file, Math.max(0, file.bytes - tailBytes, file.bytes - file.last.length), tailBytes) ?? "";
  const offset = Number(/^startxref\s+(\d+)/.exec(tail.slice(tail.lastIndexOf("startxref")))?.[1] ?? Number.NaN);
  // Offsets count from the header, whatever is before it; not every program does so.
  const places = Number.isNaN(offset) ? [] : [offset + headerAt, offset];
  const texts = places.map((place) => textAt(file, place, trailerWithin) ?? "");
  const trailer = [...texts.map(trailerAtStart), lastTrailer(tail)].find((found) => found !== undefined);
  return trailer === undefined ? null : hasEntry(trailer, "Encrypt");
};

/** The text from the trailer's dictionary on, where the text starts with a cross-reference table or stream. */
const trailerAtStart = (text: string): string | undefined => {
  const stream = /^\s*\d+\s+\d+\s+obj\s*(?=<<)/.exec(text);
  if (stream) return text.slice(stream[0].length);
  return /^\s*xref\s/.test(text) ? afterKeyword(text, text.indexOf("trailer")) : undefined;
};

/** Where the offset is wrong, programs that repair a file take its last trailer, of either form. */
const lastTrailer = (tail: string): string | undefined => {
  const keyword = tail.lastIndexOf("trailer");
  const stream = [...tail.matchAll(/\d\s+obj\s*(?=<<[\s\S]{0,1024}?\/Type\s*\/XRef\b)/g)].at(-1);
  return stream && stream.index > keyword ? tail.slice(stream.index + stream[0].length) : afterKeyword(tail, keyword);
};

const afterKeyword = (text: string, at: number): string | undefined => {
  const keyword = at === -1 ? undefined : /^trailer\s*(?=<<)/.exec(text.slice(at));
  return keyword?.[0] === undefined ? undefined : text.slice(at + keyword[0].length);
};

/** The tokens of a dictionary that matter: brackets, names, texts and comments, which may contain any of the others. */
const token = /<<|>>|\/[^\s()<>[\]{}/%]*|\((?:[^\\()]|\\[\s\S])*|\)|<[\da-fA-F\s]*>|%[^\r\n]*/g;

/** Whether the dictionary that a text starts with has an entry of its own with this name. */
const hasEntry = (text: string, name: string): boolean => {
  let depth = 0;
  let inText = 0;
  for (const { 0: found, index } of text.matchAll(token)) {
    if (found.startsWith("(")) inText += 1;
    else if (found === ")") inText = Math.max(0, inText - 1);
    else if (inText > 0) continue;
    else if (found === "<<") depth += 1;
    else if (found === ">>" && depth === 1) return false;
    else if (found === ">>") depth -= 1;
    else if (depth === 1 && found === `/${name}` && isReferenceOrDictionary(text.slice(index + found.length)))
      return true;
  }
  return false;
};

const isReferenceOrDictionary = (text: string) => /^\s*(?:\d+\s+\d+\s+R\b|<<)/.test(text);
