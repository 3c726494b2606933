import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { Busboy, type BusboyFileStream } from "@fastify/busboy";
import * as z from "zod/mini";
import { MediaType, type UploadedFile } from "../attachments/schema.ts";
import { env } from "../env.ts";
import { ApiError, type Fault, fileTooLarge, internalError, malformed, unsupportedMediaType } from "../errors.ts";
import { limits } from "../limits.ts";
import { endpointReading } from "./endpoint.ts";
import { isJson, jsonOf, type ReadBody } from "./input.ts";
import { header } from "./request.ts";

type Part = string | UploadedFile;

/** The parts that a form may have, by their names on the wire; others are skipped. */
type KnownParts = ReadonlySet<string>;

/**
 * Reads a multipart/form-data body (RFC 7578) into `{type, data: {...}}`, unknown parts left out, each part given more
 * than once a fault; or JSON in its place. 415 for another media type, 413 for a file over the limit, 422 for a form that
 * cannot be read.
 */
export const readForm: ReadBody = async (event, reads) => {
  if (reads.from === "form" && isJson(event)) return { input: jsonOf(event), faults: [], schema: reads.json };
  const contentType = header(event, "Content-Type") ?? "";
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType))
    throw unsupportedMediaType("multipart/form-data, application/json");
  if (event.body && !event.isBase64Encoded)
    throw internalError(new Error("A form arrived as text, its bytes changed: the API's binaryMediaTypes are wrong."));
  const body = Buffer.from(event.body ?? "", "base64");
  const parts = await readParts(contentType, body, new Set(reads.from === "form" ? reads.parts : []));
  const data = new Map<string, Part>();
  const faults: Fault[] = [];
  let type: Part | undefined;
  for (const [name, [part, second]] of parts) {
    const property = /^data\[(.+)\]$/.exec(name)?.[1];
    if (property === undefined) type = part;
    else if (part !== undefined) data.set(property, part);
    const pointer = property === undefined ? "/type" : `/data/${property}`;
    if (second !== undefined)
      faults.push({ in: "body", pointer, sub_code: "constraint.type", detail: "must be given only once" });
  }
  return { input: { type, data: Object.fromEntries(data) }, faults, schema: reads.schema };
};

const unreadable = (why: string) => malformed(`can't be read as a form: ${why}`);

const readParts = (contentType: string, body: Buffer, known: KnownParts): Promise<Map<string, Part[]>> =>
  new Promise((resolve, reject) => {
    const parts = new Map<string, Part[]>();
    const fail = (error: unknown) => reject(error instanceof ApiError ? error : unreadable(messageOf(error)));
    const fileSize = env.maxFileBytes();
    const { parts: most, headerPairs, headerBytes } = limits.form;
    try {
      const form = new Busboy({
        headers: { "content-type": contentType },
        // Each part comes as its bytes: a field is decoded strictly, and a file may be without a name.
        isPartAFile: () => true,
        preservePath: true,
        // The body is in memory: no part needs to wait. Busboy would wait for ever with one that has no headers.
        fileHwm: body.length + 1,
        limits: { parts: most, headerPairs, headerSize: headerBytes, fileSize },
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
      form.once("partsLimit", () => fail(unreadable(`it has more than ${most} parts`)));
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

/** A file or a text. A plain field `data[file]` is not a file: the text "loa.pdf" means that curl's @ was forgotten. */
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
  // The same bytes as a plain Uint8Array: JSON.stringify would write a Buffer number by number.
  content: new Uint8Array(content.buffer, content.byteOffset, content.length),
  sha256: createHash("sha256").update(content).digest("hex"),
  filename: cleanFilename(filename),
  contentType: cleanMediaType(mediaType),
});

/**
 * The `filename*` of the file's part (RFC 5987), which takes precedence over its `filename` (RFC 6266): busboy reads it
 * only where it comes first. It is part of a header: only header lines separate it from the boundary before it.
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

/** A file that arrives in one chunk is not copied. */
const collect = (stream: BusboyFileStream, done: (content: Buffer) => void) => {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.once("end", () => done(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const controls = /[\u0000-\u001f\u007f-\u009f]/g;

/** The base name of an uploaded file's own name, cleaned, of at most 255 characters; a file without any is called `attachment`. */
const cleanFilename = (name: string | undefined): string => {
  const base = (name ?? "").toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const clean = base.replace(controls, "").trim();
  return /^\.{0,2}$/.test(clean) ? "attachment" : shortened(clean);
};

/** A name that is too long keeps its extension. */
const shortened = (name: string): string => {
  const characters = [...name];
  if (characters.length <= limits.filenameLength) return name;
  const extension = [...(/\.[^.\s]{1,20}$/.exec(name)?.[0] ?? "")];
  return [...characters.slice(0, limits.filenameLength - extension.length), ...extension].join("");
};

/** The media type of an uploaded file, or that of any bytes where it is not one that a header can carry. */
const cleanMediaType = (mediaType: string): string =>
  z.safeParse(MediaType, mediaType).data ?? "application/octet-stream";

/** An endpoint that takes a form with a file, or JSON in its place. */
export const uploadEndpoint = endpointReading(readForm, ["form"]);
