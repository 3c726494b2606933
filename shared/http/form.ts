import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { Dicer } from "@fastify/busboy";
import { parse } from "content-disposition";
import * as z from "zod/mini";
import { MediaType, type UploadedFile } from "../attachments/schema.ts";
import { env } from "../env.ts";
import { fileTooLarge, internalError, malformed, type Problem, problemIn, unsupportedMediaType } from "../errors.ts";
import { limits } from "../limits.ts";
import { endpointWith } from "./endpoint.ts";
import type { ReadBody } from "./input.ts";
import { header } from "./request.ts";

type Part = string | UploadedFile;

/**
 * Parses a multipart/form-data body (RFC 7578) into `{type, data: {...}}`. Leaves out unknown parts and empty
 * texts, which HTML forms send for empty fields, and reports a part that is given more than once. 415 for another media
 * type, 413 for a file over the limit, 422 for a form that cannot be parsed.
 */
export const readForm: ReadBody = async (event, reads) => {
  const contentType = header(event, "Content-Type") ?? "";
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType)) throw unsupportedMediaType("multipart/form-data");
  if (event.body && !event.isBase64Encoded)
    throw internalError(
      new Error("A form arrived as text, so its bytes may have changed: the API's binaryMediaTypes are wrong."),
    );
  const rawParts = await split(contentType, Buffer.from(event.body ?? "", "base64"));
  const known = new Set(reads.from === "form" ? reads.parts : []);
  const parts = rawParts.flatMap((raw) => {
    const { name = "", filename } = dispositionOf(raw);
    const part = known.has(name) && partOf(name, filename, raw);
    return part ? [{ name, part }] : [];
  });
  const data = new Map<string, Part>();
  const problems: Problem[] = [];
  for (const [name, [first, second]] of Map.groupBy(parts, ({ name }) => name)) {
    const property = /^data\[(.+)\]$/.exec(name)?.[1];
    if (property !== undefined && first) data.set(property, first.part);
    const pointer = property === undefined ? "/type" : `/data/${property}`;
    if (second) problems.push(problemIn("body", pointer, "constraint.type", "must be given only once"));
  }
  const type = parts.find(({ name }) => name === "type")?.part;
  return { input: { type, data: Object.fromEntries(data) }, problems };
};

const unreadable = (why: string) => malformed(`can't be read as a form: ${why}`);

/** A part's own headers, with names in lower case and values in Latin-1, and its content. */
type RawPart = { readonly headers: PartHeaders; readonly content: Buffer };
type PartHeaders = Readonly<Record<string, readonly string[] | undefined>>;

/** Splits a form. The body is in memory, and each part's content is a view of it, so no stream waits for its reader. */
const split = (contentType: string, body: Buffer): Promise<RawPart[]> =>
  new Promise((resolve, reject) => {
    // The parameters of both headers have the same syntax. Node's MIMEType takes seconds for one of 20 KB of spaces.
    const { boundary = "" } = parse(contentType).parameters;
    // RFC 2046, 5.1.1
    if (boundary.length < 1 || boundary.length > 70) throw unreadable("its boundary must have 1 to 70 characters");
    const { parts: maxParts, headerPairs, headerBytes } = limits.form;
    const limited = { maxHeaderPairs: headerPairs, maxHeaderSize: headerBytes, partHwm: body.length + 1 };
    const form = new Dicer({ boundary, ...limited });
    const streams = new Map<Readable, PartHeaders>();
    const parts: RawPart[] = [];
    let [partCount, headerLength] = [0, 0];
    // What is thrown here ends the parsing. Dicer would create a stream for each of the other parts.
    form.on("part", (stream) => {
      partCount += 1;
      if (partCount > maxParts) throw unreadable(`it has more than ${maxParts} parts`);
      stream.once("header", (headers: PartHeaders) => {
        headerLength += Object.values(headers).join().length;
        if (headerLength > headerBytes) throw unreadable(`its headers have more than ${headerBytes} bytes`);
        streams.set(stream, headers);
      });
      // A form that is cut off is an error of the form, too.
      stream.once("error", () => undefined);
    });
    form.once("error", ({ message }) => reject(unreadable(message)));
    form.once("finish", () => resolve(parts));
    // Dicer takes far longer for parts after the form's end than for those in it.
    const end = body.indexOf(`\r\n--${boundary}--`);
    form.end(end === -1 ? body : body.subarray(0, end + boundary.length + 6));
    for (const [stream, headers] of streams) parts.push({ headers, content: stream.read() ?? Buffer.alloc(0) });
  });

/**
 * Returns the parameters of a part's Content-Disposition. `filename*` takes precedence over `filename` (RFC 6266). For a quote
 * or a line break, browsers and most HTTP clients send %22, %0D or %0A (WHATWG), which the parser decodes. Others send \" for a
 * quote. Any other backslash is left as it is, because Windows separates folders with it.
 */
const dispositionOf = ({ headers }: RawPart): Readonly<Record<string, string>> => {
  const sent = Buffer.from(headers["content-disposition"]?.[0] ?? "", "latin1").toString();
  const { type, parameters } = parse(sent.replaceAll('\\"', "%22"), { multipart: true });
  // A name that cannot be decoded still says that the part is a file.
  const unnamed = /;\s*filename\*\s*=/i.test(sent) ? { filename: "" } : {};
  return type === "form-data" ? { ...unnamed, ...parameters } : {};
};

/** Returns a file or a text. A plain field `data[file]` is not a file: the text "loa.pdf" means that curl's @ was forgotten. */
const partOf = (name: string, filename: string | undefined, { headers, content }: RawPart): Part => {
  const value = (header: string) => headers[header]?.[0]?.split(";")[0]?.trim().toLowerCase();
  const encoding = value("content-transfer-encoding") || "binary";
  if (!/^(7bit|8bit|binary)$/.test(encoding)) throw unreadable(`${name} has the Content-Transfer-Encoding ${encoding}`);
  if (content.length > env.maxFileBytes()) throw fileTooLarge(env.maxFileBytes());
  const mediaType = value("content-type") || "text/plain";
  if (name === "data[file]" && (filename !== undefined || mediaType !== "text/plain"))
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

const uploadedFile = (content: Buffer, filename: string | undefined, mediaType: string): UploadedFile => ({
  // A plain Uint8Array over the same bytes. JSON.stringify would first turn a Buffer into an array of numbers.
  content: new Uint8Array(content.buffer, content.byteOffset, content.length),
  sha256: createHash("sha256").update(content).digest("hex"),
  filename: cleanFilename(filename),
  // The generic type, if a header cannot contain this one.
  contentType: z.safeParse(MediaType, mediaType).data ?? "application/octet-stream",
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are removed
const controls = /[\u0000-\u001f\u007f-\u009f]/g;

/**
 * Reduces an uploaded file's name to its cleaned base name of at most 255 characters. A file without a name is called
 * `attachment`.
 */
const cleanFilename = (name: string | undefined): string => {
  const base = (name ?? "").toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const clean = base.replace(controls, "").trim();
  return /^\.{0,2}$/.test(clean) ? "attachment" : shortened(clean);
};

/** Shortens a name that is too long, but keeps its extension. */
const shortened = (name: string): string => {
  const characters = [...name];
  if (characters.length <= limits.filenameLength) return name;
  const extension = [...(/\.[^.\s]{1,20}$/.exec(name)?.[0] ?? "")];
  const kept = characters.slice(0, limits.filenameLength - extension.length).join("");
  return kept.trimEnd() + extension.join("");
};

/** An endpoint that accepts a form with a file. */
export const uploadEndpoint = endpointWith(readForm, ["form"]);
