import { isUtf8 } from "node:buffer";
import { once } from "node:events";
import { Dicer } from "@fastify/busboy";
import { decodeExtended, parse } from "content-disposition";
import { type UploadedFile, uploadedFile } from "../attachments/attachment-schema.ts";
import { env } from "../env.ts";
import { fileTooLarge, internalError, malformed, type Problem, problemIn } from "../errors.ts";
import { limits } from "../limits.ts";
import type { FormReads, PartKind } from "../route.ts";
import { type ReadInput, requireMediaType } from "./input.ts";
import { header, type RequestEvent } from "./request.ts";

type Part = string | UploadedFile;

/**
 * Parses a multipart/form-data body (RFC 7578) into `{type, data: {...}}`. `filename` defaults to the file's own name. Leaves out
 * unknown parts and empty texts, which HTML forms send for empty fields, and reports a part that is given more than once. Throws
 * 415 for another media type, 413 for a file over the limit, and 422 for a form that cannot be parsed.
 */
export const readForm = async (event: RequestEvent, reads: FormReads): Promise<ReadInput> => {
  requireMediaType(event, "multipart/form-data");
  if (event.body && !event.isBase64Encoded)
    throw internalError(new Error("A form arrived as text: the API's binaryMediaTypes are wrong."));
  const kinds = new Map(Object.entries(reads.parts));
  const split = await splitForm(header(event, "Content-Type") ?? "", Buffer.from(event.body ?? "", "base64"));
  const described = split.map((raw) => ({ raw, ...dispositionOf(raw.headers) }));
  const limit = env.maxFileBytes();
  if (described.some(({ raw, name = "" }) => kinds.has(name) && sizeOf(raw) > limit)) throw fileTooLarge(limit);
  const parts = described.flatMap(({ raw, name = "", filename, fault }, index) => {
    if (fault) throw unreadable(`${name || `part ${index + 1}`} ${fault}`);
    const kind = kinds.get(name);
    const part = kind && partOf(name, kind, filename, raw);
    return part ? [{ name, part }] : [];
  });
  const data = new Map<string, Part>();
  const problems: Problem[] = [];
  for (const [name, all] of Map.groupBy(parts, (one) => one.name)) {
    // Some generated clients also send the path of a file as a text.
    const files = all.filter(({ part }) => typeof part !== "string");
    const [first, second] = files.length > 0 ? files : all;
    const property = /^data\[(.+)\]$/.exec(name)?.[1];
    if (property !== undefined && first) data.set(property, first.part);
    const pointer = property === undefined ? "/type" : `/data/${property}`;
    if (second) problems.push(problemIn("body", pointer, "constraint.type", "must be given only once"));
  }
  const type = parts.find(({ name }) => name === "type")?.part;
  const file = data.values().find((part) => typeof part !== "string");
  // The schema's rule for `filename` also limits the file's own name.
  return { input: { type, data: { ...(file && { filename: file.filename }), ...Object.fromEntries(data) } }, problems };
};

/** Gives a route the reader of its form. */
export const withForm = <R extends { readonly reads: FormReads }>(route: R) => ({
  ...route,
  readBody: (event: RequestEvent) => readForm(event, route.reads),
});

const unreadable = (why: string) => malformed(`can't be read as a form: ${why}`);

/** The headers of a form's part, with names in lower case and values in Latin-1. */
type Headers = ReadonlyMap<string, readonly string[]>;

/** A part's own headers and its content, which are views of the body. */
type RawPart = { readonly headers: Headers; readonly chunks: readonly Buffer[] };

const sizeOf = ({ chunks }: RawPart) => chunks.reduce((sum, { length }) => sum + length, 0);

const setByHand = "Let the HTTP client set that header: do not set it by hand";

/** Splits a form (RFC 2046, 5.1.1) with busboy's parser. */
const splitForm = async (contentType: string, body: Buffer): Promise<RawPart[]> => {
  // Content-Type and Content-Disposition have the same syntax of parameters. Node's MIMEType takes seconds for 20 KB of spaces.
  const { boundary = "" } = parse(contentType).parameters;
  if (boundary === "") throw unreadable(`its Content-Type has no boundary. ${setByHand}`);
  if (boundary.length > 70) throw unreadable("its boundary must have at most 70 characters");
  const pieces = piecesOf(body, boundary);
  // A piece ends with the line break and the hyphens of the next delimiter, which are not the part's.
  checkHeaders(pieces.slice(1).map((piece) => piece.subarray(0, -boundary.length - 4)));
  const parts: RawPart[] = [];
  const parser = new Dicer({ boundary, maxHeaderPairs: limits.form.headerBytes });
  parser.on("part", (part) => {
    const chunks: Buffer[] = [];
    part.on("header", (headers) => parts.push({ headers: new Map(Object.entries(headers)), chunks }));
    part.on("data", (chunk: Buffer) => chunks.push(chunk));
  });
  const finished = once(parser, "finish");
  for (const piece of pieces) parser.write(piece);
  parser.end("--");
  await finished;
  return parts;
};

/**
 * Cuts a form after each delimiter, and leaves out the delimiters' padding, because the parser drops headers after padding. The
 * parser also drops any text before the first delimiter, and cuts a file that contains a delimiter. So the boundary must first
 * occur at the beginning of a line, each line that begins with it must be a delimiter, and none may follow the closing one.
 */
const piecesOf = (body: Buffer, boundary: string): Buffer[] => {
  const delimiter = Buffer.from(`\n--${boundary}`);
  const pieces: Buffer[] = [];
  let at = body.indexOf(delimiter.subarray(1));
  if (at === -1) throw unreadable(`the boundary of its Content-Type does not occur in it. ${setByHand}`);
  for (let begin = at; at !== -1; ) {
    const after = at + delimiter.length - 1;
    const end = body.indexOf("\n", after) + 1 || body.length;
    const rest = body.toString("latin1", after, end);
    const beginsLine = at === 0 || body.toString("latin1", at - 2, at) === "\r\n";
    if (!beginsLine || !/^(--[ \t]*(\r?\n)?|[ \t]*\r\n)$/.test(rest))
      throw unreadable("its boundary occurs in a line that is not a delimiter");
    pieces.push(body.subarray(begin, after));
    const next = body.indexOf(delimiter, end - 1);
    if (rest.startsWith("--") && next !== -1) throw unreadable("a delimiter follows the closing one");
    if (rest.startsWith("--")) return pieces;
    if (pieces.length > limits.form.parts) throw unreadable(`it has more than ${limits.form.parts} parts`);
    begin = end - 2;
    at = next === -1 ? -1 : next + 1;
  }
  throw unreadable("the closing delimiter is missing");
};

/**
 * Refuses a part with a line that is not a header. The parser reads the same headers again, but it drops such a line and all headers
 * after it, and reports neither.
 */
const checkHeaders = (parts: readonly Buffer[]): void => {
  let bytes = 0;
  for (const [index, part] of parts.entries()) {
    const end = part.indexOf("\r\n\r\n");
    if (end === -1) throw unreadable(`the headers of part ${index + 1} do not end with an empty line`);
    const headers = part.toString("latin1", 0, end);
    bytes += headers.length + 2;
    if (bytes > limits.form.headerBytes)
      throw unreadable(`its headers have more than ${limits.form.headerBytes} bytes`);
    // A header can be folded over several lines.
    if (!/^(\r\n[^\s:]+:[^\r\n]*(\r\n[ \t][^\r\n]*)*)*$/.test(headers))
      throw unreadable(`part ${index + 1} has a line that is not a header`);
  }
};

/**
 * What a part's header says. If the header cannot be read, `fault` says why, as in "has no name". `name` then only identifies the
 * part.
 */
type Disposition = { readonly name?: string; readonly filename?: string | undefined; readonly fault?: string };

/** Matches a parameter, up to the next semicolon. Its name is a token. `dispositionOf` refuses values that only filename* can have. */
const parameter = /[ \t]*;(?:[ \t]*([!#-'*+.^`|~\w-]+)[ \t]*=[ \t]*([!#-'*+.^`|~\w-]*"[^"]*"|[^\s";][^";]*))?/gy;

/** Matches a value other than that of filename*, which React Native sends with parentheses, commas and other characters unescaped. */
const tokenOrQuoted = /^([!#-'*+.^`|~\w-]+|"[^"]*")$/;

/**
 * Returns the name of a part and its file's name. `filename*` takes precedence over `filename` (RFC 6266). For a quote or a line
 * break, browsers and most HTTP clients send %22, %0D or %0A (WHATWG). Others send \" for a quote. Keeps any other backslash,
 * because Windows separates folders with it. Refuses headers that could be read in two ways, and values that would be shortened or
 * dropped.
 */
const dispositionOf = (headers: Headers): Disposition => {
  const [sent, another] = headers.get("content-disposition") ?? [];
  if (sent === undefined) return { fault: "has no Content-Disposition" };
  const bytes = Buffer.from(sent, "latin1");
  const text = bytes.toString().replaceAll('\\"', "%22");
  const [type = ""] = text.split(";", 1);
  const found = Array.from(text.slice(type.length).matchAll(parameter));
  const rest = text.slice(found.reduce((end, [all]) => end + all.length, type.length));
  const given = found.flatMap(([, name, value = ""]) => (name ? [[name.toLowerCase(), value.trim()] as const] : []));
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
    given.some(([each, value]) => each !== "filename*" && !tokenOrQuoted.test(value)) &&
      "has a value that needs quotes",
    twice && `gives ${twice.slice(0, 64)} twice`,
    given.some(([each]) => /\*\d/.test(each)) && "has a filename in pieces (a continuation of RFC 2231)",
    values.has("name*") && "has a name* in place of its name",
    values.has("filename*") && filename === undefined && "has a filename* that cannot be decoded",
    values.has("filename") && filename === undefined && "has a filename with an encoded word that cannot be decoded",
    name === undefined && "has no name",
  ].find(Boolean);
  if (!fault) return { ...(name !== undefined && { name }), filename };
  // A long or unreadable name does not help the caller.
  return { ...(name && /^[\w.[\]-]{1,64}$/.test(name) && { name }), fault };
};

/** Returns why the parameters from `rest` on cannot be read. `last` is the value before `rest`. */
const faultOf = (rest: string, last: string | undefined): string => {
  if (last !== undefined) return last.endsWith('"') ? "has a value with a bare quote" : "has a value that needs quotes";
  return /^[^"]*"[^"]*$/.test(rest) ? "has a quote that is not closed" : "has a parameter that cannot be read";
};

/** Returns the value of a token or of a quoted text. */
const unquoted = (sent: string | undefined): string | undefined => {
  if (!sent?.startsWith('"')) return sent;
  return sent.slice(1, -1).replaceAll(/%(?:22|0d|0a)/gi, (found) => decodeURIComponent(found));
};

/** Returns undefined if there is no name or it cannot be decoded. Some clients put quotes around filename*, or around its text. */
const filenameOf = (values: ReadonlyMap<string, string>): string | undefined => {
  const [plain, extended] = [unquoted(values.get("filename")), values.get("filename*")];
  if (extended === undefined) return plain && decodedWords(plain);
  const decoded = decodeExtended(extended.replaceAll('"', ""));
  return decoded === "" ? (plain ?? decoded) : decoded;
};

/** Decodes a text that consists of encoded words (RFC 2047), as some clients send names. Returns undefined if one cannot be decoded. */
const decodedWords = (text: string): string | undefined => {
  if (!/^\s*(=\?[^?\s]+\?[BQ]\?[ ->@-~]*\?=\s*)+$/i.test(text)) return text;
  const words = Array.from(
    text.matchAll(/=\?([^?\s]+)\?([BQ])\?([^?]*)\?=/gi),
    ([, charset = "", encoding = "", content = ""]) => ({
      // A language can follow the charset (RFC 2231).
      charset: charset.replace(/\*.*/, "").toLowerCase(),
      bytes: encoding.toUpperCase() === "B" ? Buffer.from(content, "base64") : fromQ(content),
      // A single Base64 character after groups of four encodes no byte, and Node drops it.
      isValid: (encoding.toUpperCase() === "B"
        ? /^(?:[a-z\d+/]{4})*(?:[a-z\d+/]{2,3}={0,2})?$/i
        : /^(?:[^=]|=[\da-f]{2})*$/i
      ).test(content),
    }),
  );
  const [first] = words;
  // Some clients split a character over two words.
  const isOneText = words.every(({ charset }) => charset === first?.charset);
  const texts = isOneText
    ? [{ charset: first?.charset, bytes: Buffer.concat(words.map(({ bytes }) => bytes)) }]
    : words;
  try {
    const decoded = texts.map(({ charset = "", bytes }) => decode(charset, bytes)).join("");
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

/** Shortens a header's value to printable characters, for an error's detail. */
const printable = (value: string) => value.replaceAll(/[^!-~]/g, "?").slice(0, 40);

/** Returns a file or a text. A plain field is not a file. If its text is "loa.pdf", somebody forgot curl's @. */
const partOf = (name: string, kind: PartKind, filename: string | undefined, { headers, chunks }: RawPart): Part => {
  const content = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  const value = (field: string) => headers.get(field)?.[0]?.split(";")[0]?.trim().toLowerCase();
  const encoding = value("content-transfer-encoding") || "binary";
  if (!/^(7bit|8bit|binary)$/.test(encoding))
    throw unreadable(`${name} has the Content-Transfer-Encoding ${printable(encoding)}`);
  const mediaType = value("content-type") || "text/plain";
  if (kind === "file" && (filename !== undefined || mediaType !== "text/plain"))
    return uploadedFile(content, filename, mediaType);
  const text = textOf(name, headers.get("content-type")?.join(";") ?? "", content);
  return mediaType === "application/json" ? decoded(text) : text;
};

/** Decodes the text of a part by the charset that it declares, strictly. */
const textOf = (name: string, contentType: string, content: Buffer): string => {
  const parameters = contentType.matchAll(/;\s*([^\s=;"]+)\s*=\s*(?:"([^"]*)"|([^\s;]*))/g);
  const charsets = Array.from(parameters, ([, parameter = "", quoted, token = ""]) =>
    parameter.toLowerCase() === "charset" ? (quoted ?? token).trim() : "",
  ).filter(Boolean);
  const [charset = "UTF-8"] = charsets;
  const another = charsets.find((each) => each.toLowerCase() !== charset.toLowerCase());
  if (another !== undefined)
    throw unreadable(`${name} has two charsets, ${printable(charset)} and ${printable(another)}`);
  try {
    const text = decode(charset, content);
    if (!text.includes("\0")) return text;
  } catch (error) {
    const isUnknown = error instanceof RangeError;
    const why = isUnknown ? "has the unknown charset" : "is not valid";
    throw unreadable(`${name} ${why} ${printable(charset)}`);
  }
  throw unreadable(`${name} contains a NUL`);
};

/** Throws a RangeError for an unknown charset, and a TypeError for bytes that the charset does not allow. */
const decode = (charset: string, bytes: Uint8Array): string => {
  const { encoding } = new TextDecoder(charset);
  // TextDecoder reads US-ASCII as Windows-1252.
  if (/^(us-)?ascii$/i.test(charset) && bytes.some((byte) => byte > 0x7f)) throw new TypeError("is not ASCII");
  // Java's UTF-16 is big-endian, and begins with a byte order mark.
  const isBigEndian = encoding === "utf-16le" && bytes[0] === 0xfe && bytes[1] === 0xff;
  const options = { fatal: true, ignoreBOM: encoding === "utf-8" };
  return new TextDecoder(isBigEndian ? "utf-16be" : encoding, options).decode(bytes);
};

/** Several generated clients send a part that is not a plain string, such as an enum or a UUID, as JSON: `"LOA"` or null. */
const decoded = (json: string): string => {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "string" ? value : value === null ? "" : json;
  } catch {
    return json;
  }
};
