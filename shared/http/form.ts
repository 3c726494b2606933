import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { parse } from "content-disposition";
import * as z from "zod/mini";
import { controlCharacters, MediaType, type UploadedFile } from "../attachments/attachment-schema.ts";
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
    throw internalError(
      new Error("A form arrived as text, so its bytes may have changed: the API's binaryMediaTypes are wrong."),
    );
  const kinds = new Map(Object.entries(reads.parts));
  const parts = split(contentType, Buffer.from(event.body ?? "", "base64")).flatMap((raw) => {
    const { name = "", filename } = dispositionOf(raw);
    const kind = kinds.get(name);
    const part = kind && partOf(name, kind, filename, raw);
    return part ? [{ name, part }] : [];
  });
  const data = new Map<string, Part>();
  const problems: Problem[] = [];
  for (const [name, all] of Map.groupBy(parts, ({ name }) => name)) {
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

const unreadable = (why: string) => malformed(`can't be read as a form: ${why}`);

/** A part's own headers, with names in lower case and values in Latin-1, and its content. */
type RawPart = { readonly headers: ReadonlyMap<string, string>; readonly content: Buffer };

/**
 * Splits a form (RFC 2046, 5.1.1). Each part's content is a view of the body. A file that contains a delimiter would lose what
 * follows it, so a form is refused if a delimiter is not alone on its line, if a part does not begin with its own headers, and if
 * there is a delimiter after the last one.
 */
const split = (contentType: string, body: Buffer): RawPart[] => {
  // The parameters of both headers have the same syntax. Node's MIMEType takes seconds for one of 20 KB of spaces.
  const { boundary = "" } = parse(contentType).parameters;
  if (boundary.length < 1 || boundary.length > 70) throw unreadable("its boundary must have 1 to 70 characters");
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const isFirst = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2));
  const parts: RawPart[] = [];
  let headerBytes = 0;
  let at = isFirst ? -2 : body.indexOf(delimiter);
  while (at !== -1) {
    const after = at + delimiter.length;
    const lineEnd = body.indexOf("\r\n", after);
    const rest = body.toString("latin1", after, lineEnd === -1 ? body.length : lineEnd);
    if (!/^(--)?[ \t]*$/.test(rest)) throw unreadable("it has a line that begins with its boundary");
    at = body.indexOf(delimiter, lineEnd === -1 ? body.length : lineEnd);
    if (rest.startsWith("--") && at !== -1) throw unreadable("it continues after its end");
    if (rest.startsWith("--")) return parts;
    if (at === -1) break;
    if (parts.length === limits.form.parts) throw unreadable(`it has more than ${limits.form.parts} parts`);
    const part = body.subarray(lineEnd + 2, at);
    const headerEnd = part.indexOf("\r\n\r\n");
    const content = headerEnd === -1 ? Buffer.alloc(0) : part.subarray(headerEnd + 4);
    headerBytes += part.length - content.length;
    if (headerBytes > limits.form.headerBytes)
      throw unreadable(`its headers have more than ${limits.form.headerBytes} bytes`);
    parts.push({ headers: headersOf(part.toString("latin1", 0, part.length - content.length)), content });
  }
  throw unreadable("it has no end");
};

/** Returns the first of each header. A header can be folded over several lines. */
const headersOf = (block: string): RawPart["headers"] => {
  const lines = block.replaceAll(/\r\n(?=[ \t])/g, "").split("\r\n");
  const headers = new Map<string, string>();
  for (const line of lines.filter((text) => text !== "")) {
    const [, name = "", value = ""] = /^([^\s:]+):([^\r\n]*)$/.exec(line) ?? [];
    if (name === "") throw unreadable("a part has a line that is not a header");
    if (!headers.has(name.toLowerCase())) headers.set(name.toLowerCase(), value.trimStart());
  }
  if (!headers.has("content-disposition")) throw unreadable("a part has no Content-Disposition");
  return headers;
};

/**
 * Returns the parameters of a part's Content-Disposition. `filename*` takes precedence over `filename` (RFC 6266). For a quote
 * or a line break, browsers and most HTTP clients send %22, %0D or %0A (WHATWG), which the parser decodes. Others send \" for a
 * quote. Any other backslash is left as it is, because Windows separates folders with it.
 */
const dispositionOf = ({ headers }: RawPart): Readonly<Record<string, string>> => {
  const sent = Buffer.from(headers.get("content-disposition") ?? "", "latin1").toString();
  const { type, parameters } = parse(sent.replaceAll('\\"', "%22"), { multipart: true });
  // A name that cannot be decoded still says that the part is a file.
  const unnamed = /;\s*filename\*\s*=/i.test(sent) ? { filename: "" } : {};
  return type === "form-data" ? { ...unnamed, ...parameters } : {};
};

/** Returns a file or a text. A plain field is not a file: the text "loa.pdf" means that curl's @ was forgotten. */
const partOf = (name: string, kind: PartKind, filename: string | undefined, { headers, content }: RawPart): Part => {
  const value = (header: string) => headers.get(header)?.split(";")[0]?.trim().toLowerCase();
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

const uploadedFile = (content: Buffer, filename: string | undefined, mediaType: string): UploadedFile => ({
  // A plain Uint8Array over the same bytes. JSON.stringify would first turn a Buffer into an array of numbers.
  content: new Uint8Array(content.buffer, content.byteOffset, content.length),
  sha256: createHash("sha256").update(content).digest("hex"),
  filename: cleanFilename(filename),
  // The generic type, if a header cannot contain this one.
  contentType: z.safeParse(MediaType, mediaType).data ?? "application/octet-stream",
});

const controls = new RegExp(`[${controlCharacters}]`, "g");

/** Reduces an uploaded file's name to its cleaned base name. A file without a name is called `attachment`. */
const cleanFilename = (name: string | undefined): string => {
  const base = (name ?? "").toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const clean = base.replace(controls, "").trim();
  return /^\.{0,2}$/.test(clean) ? "attachment" : shortened(clean);
};

const shortened = (name: string): string => {
  const characters = [...name];
  if (characters.length <= limits.filenameLength) return name;
  const extension = [...(/\.[^.\s]{1,20}$/.exec(name)?.[0] ?? "")];
  const kept = characters.slice(0, limits.filenameLength - extension.length).join("");
  return kept.trimEnd() + extension.join("");
};
