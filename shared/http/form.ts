import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { Busboy, type BusboyFileStream } from "@fastify/busboy";
import * as z from "zod/mini";
import { MediaType, type UploadedFile } from "../attachments/schema.ts";
import { env } from "../env.ts";
import { ApiError, fileTooLarge, internalError, malformed, type Problem, unsupportedMediaType } from "../errors.ts";
import { limits } from "../limits.ts";
import { endpointWith } from "./endpoint.ts";
import { isJson, parseJson, type ReadBody } from "./input.ts";
import { header } from "./request.ts";

type Part = string | UploadedFile;

/** The names of the parts that a form may have. Other parts are ignored. */
type KnownParts = ReadonlySet<string>;

/**
 * Parses a multipart/form-data body (RFC 7578) into `{type, data: {...}}`, or a JSON body. Leaves out unknown parts, and
 * reports a part that is given more than once. 415 for another media type, 413 for a file over the limit, 422 for a form
 * that cannot be parsed.
 */
export const readForm: ReadBody = async (event, reads) => {
  if (reads.from === "form" && isJson(event)) return { input: parseJson(event), problems: [], schema: reads.json };
  const contentType = header(event, "Content-Type") ?? "";
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType))
    throw unsupportedMediaType("multipart/form-data, application/json");
  if (event.body && !event.isBase64Encoded)
    throw internalError(
      new Error("A form arrived as text, so its bytes may have changed: the API's binaryMediaTypes are wrong."),
    );
  const body = Buffer.from(event.body ?? "", "base64");
  const parts = await readParts(contentType, body, new Set(reads.from === "form" ? reads.parts : []));
  const data = new Map<string, Part>();
  const problems: Problem[] = [];
  let type: Part | undefined;
  for (const [name, [part, second]] of parts) {
    const property = /^data\[(.+)\]$/.exec(name)?.[1];
    if (property === undefined) type = part;
    else if (part !== undefined) data.set(property, part);
    const pointer = property === undefined ? "/type" : `/data/${property}`;
    if (second !== undefined)
      problems.push({ in: "body", pointer, sub_code: "constraint.type", detail: "must be given only once" });
  }
  return { input: { type, data: Object.fromEntries(data) }, problems, schema: reads.schema };
};

const unreadable = (why: string) => malformed(`can't be read as a form: ${why}`);

const readParts = (contentType: string, body: Buffer, known: KnownParts): Promise<Map<string, Part[]>> =>
  new Promise((resolve, reject) => {
    const parts = new Map<string, Part[]>();
    const fail = (error: unknown) => reject(error instanceof ApiError ? error : unreadable(messageOf(error)));
    const fileSize = env.maxFileBytes();
    const { parts: maxParts, headerPairs, headerBytes } = limits.form;
    try {
      const form = new Busboy({
        headers: { "content-type": contentType },
        // Busboy hands over the bytes of every part: fields are decoded strictly below, and a file may have no name.
        isPartAFile: () => true,
        preservePath: true,
        // The body is in memory, so no part needs back-pressure. Busboy would wait forever for a part without headers.
        fileHwm: body.length + 1,
        limits: { parts: maxParts, headerPairs, headerSize: headerBytes, fileSize },
      });
      form.on("file", (name, stream, filename, encoding, mediaType) => {
        stream.once("error", fail);
        if (!known.has(name)) return void stream.resume();
        stream.once("limit", () => fail(fileTooLarge(fileSize)));
        collect(stream, (content) => {
          try {
            const part = partOf({ name, filename, encoding, mediaType, content, body });
            parts.set(name, [...(parts.get(name) ?? []), part]);
          } catch (error) {
            fail(error);
          }
        });
      });
      form.once("partsLimit", () => fail(unreadable(`it has more than ${maxParts} parts`)));
      form.once("error", fail);
      form.once("finish", () => resolve(parts));
      form.end(body);
    } catch (error) {
      fail(error);
    }
  });

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

type RawPart = {
  readonly name: string;
  readonly filename: string | undefined;
  readonly encoding: string;
  readonly mediaType: string;
  readonly content: Buffer;
  readonly body: Buffer;
};

/** Returns a file or a text. A plain field `data[file]` is not a file: the text "loa.pdf" means that curl's @ was forgotten. */
const partOf = ({ name, filename, encoding, mediaType, content, body }: RawPart): Part => {
  if (!/^(7bit|8bit|binary)$/.test(encoding)) throw unreadable(`${name} has the Content-Transfer-Encoding ${encoding}`);
  if (name === "data[file]" && (filename !== undefined || mediaType !== "text/plain"))
    return uploadedFile(content, extendedFilename(body) ?? filename, mediaType);
  if (content.length > limits.form.fieldBytes)
    throw unreadable(`${name} has more than ${limits.form.fieldBytes} bytes`);
  if (!isUtf8(content)) throw unreadable(`${name} is not valid UTF-8`);
  return content.toString();
};

const uploadedFile = (content: Buffer, filename: string | undefined, mediaType: string): UploadedFile => ({
  // A plain Uint8Array over the same bytes. JSON.stringify would first turn a Buffer into an array of numbers.
  content: new Uint8Array(content.buffer, content.byteOffset, content.length),
  sha256: createHash("sha256").update(content).digest("hex"),
  filename: cleanFilename(filename),
  contentType: cleanMediaType(mediaType),
});

/**
 * Returns the `filename*` of the file's part (RFC 5987), which takes precedence over its `filename` (RFC 6266). Busboy
 * reads it only if it comes first. To be a parameter of a header, it must follow a boundary with only header lines between.
 */
const extendedFilename = (body: Buffer): string | undefined => {
  const at = body.indexOf("filename*=");
  const boundary = body.lastIndexOf("\r\n--", at);
  const start = boundary === -1 ? 0 : boundary + 2;
  if (at === -1 || at - start > limits.form.headerBytes) return undefined;
  const header = body.subarray(start, body.indexOf("\r\n", at)).toString("latin1");
  const [, , encoded] =
    /^--.*\r\n(?:.+\r\n)*content-disposition:(.*);\s*filename\*=utf-8'[^']*'([^;\s]+)\s*(?:;.*)?$/i.exec(header) ?? [];
  if (encoded === undefined || !/name="?data\[file\]"?/i.test(header)) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
};

/** Collects a part's content. Content that arrives in one chunk is not copied. */
const collect = (stream: BusboyFileStream, done: (content: Buffer) => void) => {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.once("end", () => done(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
};

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
  return [...characters.slice(0, limits.filenameLength - extension.length), ...extension].join("");
};

/** Returns the media type of an uploaded file, or the generic one if a header cannot contain it. */
const cleanMediaType = (mediaType: string): string =>
  z.safeParse(MediaType, mediaType).data ?? "application/octet-stream";

/** An endpoint that accepts a form with a file, or JSON that names a direct upload. */
export const uploadEndpoint = endpointWith(readForm, ["form"]);
