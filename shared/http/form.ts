import { isUtf8 } from "node:buffer";
import { once } from "node:events";
import { Dicer } from "@fastify/busboy";
import { decodeExtended, parse } from "content-disposition";
import { type UploadedFile, uploadedFile } from "../attachments/attachment-schema.ts";
import { env } from "../env.ts";
import { fileTooLarge, internalError, malformed, type Problem, problemIn, unsupportedMediaType } from "../errors.ts";
import { limits } from "../limits.ts";
import type { FormReads, PartKind } from "../route.ts";
import type { ReadInput } from "./input.ts";
import { header, type RequestEvent } from "./request.ts";

type Part = string | UploadedFile;

/**
 * Parses a multipart/form-data body (RFC 7578) into `{type, data: {...}}`. Leaves out unknown parts and empty
 * texts, which HTML forms send for empty fields, and reports a part that is given more than once. 415 for another media
 * type, 413 for a file over the limit, 422 for a form that cannot be parsed.
 */
export const readForm = async (event: RequestEvent, reads: FormReads): Promise<ReadInput> => {
  const contentType = header(event, "Content-Type") ?? "";
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType)) throw unsupportedMediaType("multipart/form-data");
  if (event.body && !event.isBase64Encoded)
    throw internalError(new Error("A form arrived as text: the API's binaryMediaTypes are wrong."));
  const kinds = new Map(Object.entries(reads.parts));
  const split = await splitForm(contentType, Buffer.from(event.body ?? "", "base64"));
  const parts = split.flatMap((raw) => {
    const { name = "", filename } = dispositionOf(raw);
    const kind = kinds.get(name);
    const part = kind && partOf(name, kind, filename, raw);
    return part ? [{ name, part }] : [];
  });
  const data = new Map<string, Part>();
  const problems: Problem[] = [];
  for (const [name, all] of Map.groupBy(parts, (one) => one.name)) {
    // Some generated clients send the path of a file as a text, too.
    const files = all.filter(({ part }) => typeof part !== "string");
    const [first, second] = files.length > 0 ? files : all;
    const property = /^data\[(.+)\]$/.exec(name)?.[1];
    if (property !== undefined && first) data.set(property, first.part);
    const pointer = property === undefined ? "/type" : `/data/${property}`;
    if (second) problems.push(problemIn("body", pointer, "constraint.type", "must be given only once"));
  }
  const type = parts.find(({ name }) => name === "type")?.part;
  return { input: { type, data: Object.fromEntries(data) }, problems };
};

/** Gives a route the reader of its form. */
export const withForm = <R extends { readonly reads: FormReads }>(route: R) => ({
  ...route,
  readBody: (event: RequestEvent) => readForm(event, route.reads),
});

const unreadable = (why: string) => malformed(`can't be read as a form: ${why}`);

/** A part's own headers, with names in lower case and values in Latin-1, and its content: views of the body. */
type RawPart = { readonly headers: ReadonlyMap<string, readonly string[]>; readonly chunks: readonly Buffer[] };

/** Splits a form (RFC 2046, 5.1.1) with busboy's parser. */
const splitForm = async (contentType: string, body: Buffer): Promise<RawPart[]> => {
  // The parameters of both headers have the same syntax. Node's MIMEType takes seconds for one of 20 KB of spaces.
  const { boundary = "" } = parse(contentType).parameters;
  if (boundary.length < 1 || boundary.length > 70) throw unreadable("its boundary must have 1 to 70 characters");
  const pieces = piecesOf(body, boundary);
  checkHeaders(pieces.slice(1));
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
  if (parts.length < pieces.length - 1) throw unreadable("a part has no end of its headers");
  return parts;
};

/**
 * Cuts a form after each delimiter, and leaves out the delimiters' padding: the parser drops headers after it. It also drops what
 * comes before the first delimiter, and cuts a file that contains one. So the boundary must first occur at the beginning of a line,
 * each line that begins with it must be a delimiter, and none may follow the last one.
 */
const piecesOf = (body: Buffer, boundary: string): Buffer[] => {
  const delimiter = Buffer.from(`\n--${boundary}`);
  const pieces: Buffer[] = [];
  let at = body.indexOf(delimiter.subarray(1));
  for (let begin = at; at !== -1; ) {
    const after = at + delimiter.length - 1;
    const end = body.indexOf("\n", after) + 1 || body.length;
    const rest = body.toString("latin1", after, end);
    const beginsLine = at === 0 || body.toString("latin1", at - 2, at) === "\r\n";
    if (!beginsLine || !/^(--[ \t]*(\r?\n)?|[ \t]*\r\n)$/.test(rest))
      throw unreadable("it has its boundary in a line that is not a delimiter");
    pieces.push(body.subarray(begin, after));
    const next = body.indexOf(delimiter, end - 1);
    if (rest.startsWith("--") && next !== -1) throw unreadable("it continues after its end");
    if (rest.startsWith("--")) return pieces;
    if (pieces.length > limits.form.parts) throw unreadable(`it has more than ${limits.form.parts} parts`);
    begin = end - 2;
    at = next === -1 ? -1 : next + 1;
  }
  throw unreadable("it has no end");
};

/** Refuses a part with a line that is not a header: the parser drops it and all headers that follow. */
const checkHeaders = (parts: readonly Buffer[]): void => {
  let bytes = 0;
  for (const part of parts) {
    const headers = part.toString("latin1", 0, Math.max(0, part.indexOf("\r\n\r\n")));
    bytes += headers.length + 2;
    if (bytes > limits.form.headerBytes)
      throw unreadable(`its headers have more than ${limits.form.headerBytes} bytes`);
    // A header can be folded over several lines.
    if (!/^(\r\n[^\s:]+:[^\r\n]*(\r\n[ \t][^\r\n]*)*)*$/.test(headers))
      throw unreadable("a part has a line that is not a header");
  }
};

/** The Content-Disposition of a part. Names are tokens, values too, or quoted: `""` stands for any quoted text. */
const disposition = /^form-data([ \t]*;([ \t]*[!#-'*+.^`|~\w-]+[ \t]*=[ \t]*(""|[!#-'*+.^`|~\w-]+))?)*[ \t]*$/i;

/**
 * Returns the parameters of a part's Content-Disposition. `filename*` takes precedence over `filename` (RFC 6266). For a quote
 * or a line break, browsers and most HTTP clients send %22, %0D or %0A (WHATWG), which the library decodes. Others send \" for a
 * quote. Any other backslash is left as it is, because Windows separates folders with it. Refuses what the library shortens or drops:
 * a value with a bare quote, what is given twice, a filename* that it cannot decode, another name with an asterisk, and a part without a name.
 */
const dispositionOf = ({ headers }: RawPart): Readonly<Record<string, string>> => {
  const sent = Buffer.from(headers.get("content-disposition")?.join() ?? "", "latin1");
  const text = sent.toString().replaceAll('\\"', "%22");
  const bare = text.replaceAll(/"[^"]*"/g, '""');
  const names = Array.from(bare.matchAll(/;[ \t]*([^ \t;=]+)/g), ([, name = ""]) => name.toLowerCase());
  const { parameters } = parse(text, { multipart: true });
  const isRead = (name: string) =>
    !name.includes("*") || (decodeExtended(parameters[name] ?? "") ?? null) === parameters.filename;
  const isValid = isUtf8(sent) && disposition.test(bare) && names.includes("name");
  if (!isValid || new Set(names).size < names.length || !names.every(isRead))
    throw unreadable("a part has no valid Content-Disposition");
  return parameters;
};

/** Returns a file or a text. A plain field is not a file: the text "loa.pdf" means that curl's @ was forgotten. */
const partOf = (name: string, kind: PartKind, filename: string | undefined, { headers, chunks }: RawPart): Part => {
  const content = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  const value = (field: string) => headers.get(field)?.[0]?.split(";")[0]?.trim().toLowerCase();
  const encoding = value("content-transfer-encoding") || "binary";
  if (!/^(7bit|8bit|binary)$/.test(encoding)) throw unreadable(`${name} has the Content-Transfer-Encoding ${encoding}`);
  if (content.length > env.maxFileBytes()) throw fileTooLarge(env.maxFileBytes());
  const mediaType = value("content-type") || "text/plain";
  if (kind === "file" && (filename !== undefined || mediaType !== "text/plain"))
    return uploadedFile(content, filename, mediaType);
  if (content.length > limits.form.fieldBytes)
    throw unreadable(`${name} has more than ${limits.form.fieldBytes} bytes`);
  if (!isUtf8(content)) throw unreadable(`${name} is not valid UTF-8`);
  return mediaType === "application/json" ? decoded(content.toString()) : content.toString();
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
