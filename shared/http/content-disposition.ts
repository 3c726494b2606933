import { isUtf8 } from "node:buffer";
import { decodeExtended } from "content-disposition";

/** The headers of a form's part, with names in lower case and values in Latin-1. */
export type Headers = ReadonlyMap<string, readonly string[]>;

/** `fault`: why the header cannot be read, as a sentence that begins with the part. Then `name` is only for that sentence. */
type Disposition = { readonly name?: string; readonly filename?: string | undefined; readonly fault?: string };

/** A parameter: names are tokens, values too, or quoted. A semicolon can be the last. Of `a"b"`, only filename* makes sense. */
const parameter = /[ \t]*;(?:[ \t]*([!#-'*+.^`|~\w-]+)[ \t]*=[ \t]*([!#-'*+.^`|~\w-]*"[^"]*"|[!#-'*+.^`|~\w-]+))?/gy;

/**
 * Returns the name of a part and its file's name. `filename*` takes precedence over `filename` (RFC 6266). For a quote or a line
 * break, browsers and most HTTP clients send %22, %0D or %0A (WHATWG). Others send \" for a quote. Any other backslash is left as it
 * is, because Windows separates folders with it. Refuses what could be read in two ways, and what would be shortened or dropped.
 */
export const dispositionOf = (headers: Headers): Disposition => {
  const [sent, another] = headers.get("content-disposition") ?? [];
  if (sent === undefined) return { fault: "has no Content-Disposition" };
  const bytes = Buffer.from(sent, "latin1");
  const text = bytes.toString().replaceAll('\\"', "%22");
  const [type = ""] = text.split(";", 1);
  const found = Array.from(text.slice(type.length).matchAll(parameter));
  const rest = text.slice(found.reduce((end, [all]) => end + all.length, type.length));
  const given = found.flatMap(([, name, value = ""]) => (name ? [[name.toLowerCase(), value] as const] : []));
  const values = new Map(given.toReversed());
  const name = unquoted(values.get("name"));
  const twice = Map.groupBy(given, ([each]) => each)
    .entries()
    .find(([, all]) => all.length > 1)?.[0];
  const filename = filenameOf(values);
  const fault = [
    another !== undefined && "has two Content-Dispositions",
    !isUtf8(bytes) && "has a Content-Disposition that is not UTF-8",
    type.trim().toLowerCase() !== "form-data" && "has a Content-Disposition that is not form-data",
    /\S/.test(rest) && faultOf(rest, found.at(-1)?.[2]),
    given.some(([each, value]) => each !== "filename*" && /^[^"]+"/.test(value)) && "has a value with a bare quote",
    twice && `gives ${twice.slice(0, 64)} twice`,
    given.some(([each]) => /\*\d/.test(each)) && "has a filename in pieces (a continuation of RFC 2231)",
    values.has("name*") && "has a name* in place of its name",
    values.has("filename*") && filename === undefined && "has a filename* that cannot be decoded",
    values.has("filename") && filename === undefined && "has a filename with an encoded word that cannot be decoded",
    name === undefined && "has no name",
  ].find(Boolean);
  if (!fault) return { ...(name !== undefined && { name }), filename };
  // A name that is long or not readable does not help.
  return { ...(name && /^[\w.[\]-]{1,64}$/.test(name) && { name }), fault };
};

/** Names why parameters cannot be read from `rest` on. `last` is the value before it. */
const faultOf = (rest: string, last: string | undefined): string => {
  if (last !== undefined) return last.endsWith('"') ? "has a value with a bare quote" : "has a value that needs quotes";
  return /^[^"]*"[^"]*$/.test(rest) ? "has a quote that is not closed" : "has a parameter that cannot be read";
};

/** What a token or a quoted text stands for. */
const unquoted = (sent: string | undefined): string | undefined => {
  if (!sent?.startsWith('"')) return sent;
  return sent.slice(1, -1).replaceAll(/%(?:22|0d|0a)/gi, (found) => decodeURIComponent(found));
};

/** Undefined if there is none, or if it cannot be decoded. Some clients put quotes around filename*, or around its text. */
const filenameOf = (values: ReadonlyMap<string, string>): string | undefined => {
  const [plain, extended] = [unquoted(values.get("filename")), values.get("filename*")];
  if (extended === undefined) return plain && decodedWords(plain);
  const decoded = decodeExtended(extended.replaceAll('"', ""));
  return decoded === "" ? (plain ?? decoded) : decoded;
};

/** Decodes a text that consists of encoded words (RFC 2047), as some clients send a name. Undefined if one cannot be decoded. */
const decodedWords = (text: string): string | undefined => {
  if (!/^\s*(=\?[^?\s]+\?[BQ]\?[ ->@-~]*\?=\s*)+$/i.test(text)) return text;
  const words = Array.from(
    text.matchAll(/=\?([^?\s]+)\?([BQ])\?([^?]*)\?=/gi),
    ([, charset = "", encoding = "", content = ""]) => ({
      // A language can follow the charset (RFC 2231).
      charset: charset.replace(/\*.*/, "").toLowerCase(),
      bytes: encoding.toUpperCase() === "B" ? Buffer.from(content, "base64") : fromQ(content),
      isValid: encoding.toUpperCase() === "Q" || /^[a-z\d+/]*={0,2}$/i.test(content),
    }),
  );
  const [first] = words;
  // Some clients split a character over two words.
  const isOneText = words.every(({ charset }) => charset === first?.charset);
  const texts = isOneText
    ? [{ charset: first?.charset, bytes: Buffer.concat(words.map(({ bytes }) => bytes)) }]
    : words;
  try {
    const decoded = texts.map(({ charset, bytes }) => new TextDecoder(charset, { fatal: true }).decode(bytes)).join("");
    return words.every(({ isValid }) => isValid) ? decoded : undefined;
  } catch {
    return undefined;
  }
};

const fromQ = (content: string) =>
  Buffer.from(
    content
      .replaceAll("_", " ")
      .replaceAll(/=([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
