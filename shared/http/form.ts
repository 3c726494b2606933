import { createHash } from "node:crypto";
import { Busboy, type BusboyFileStream } from "@fastify/busboy";
import type { UploadedFile } from "../attachments/schema.ts";
import { env } from "../env.ts";
import { type Fault, malformed, payloadTooLarge, unsupportedMediaType } from "../errors.ts";
import { limits } from "../limits.ts";
import { endpointReading } from "./endpoint.ts";
import type { ReadBody } from "./input.ts";
import { header } from "./request.ts";

type Part = string | UploadedFile;

/** The parts that a form may have, by their names on the wire; others are skipped. */
type KnownParts = ReadonlySet<string>;

// A plain field `data[file]` is not a file: whoever sends the text "loa.pdf" forgot curl's @, and is told so.
const isPartAFile = (known: KnownParts) => (name?: string, contentType?: string, filename?: string) =>
  name === "data[file]" || !known.has(name ?? "") ? filename !== undefined || contentType !== "text/plain" : false;

/**
 * Reads a multipart/form-data body (RFC 7578) into `{type, data: {...}}`, unknown parts left out, each part given more
 * than once a fault. 415 for another media type, 413 for a file over the limit, 422 for a form that cannot be read.
 */
export const readForm: ReadBody = async (event, reads) => {
  const contentType = header(event, "Content-Type") ?? "";
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType)) throw unsupportedMediaType("multipart/form-data");
  const body = Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8");
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
  return { input: { type, data: Object.fromEntries(data) }, faults };
};

const readParts = (contentType: string, body: Buffer, known: KnownParts): Promise<Map<string, Part[]>> =>
  new Promise((resolve, reject) => {
    const parts = new Map<string, Part[]>();
    const keep = (name: string, part: Part) => {
      if (known.has(name)) parts.set(name, [...(parts.get(name) ?? []), part]);
    };
    const unreadable = (error: unknown) => reject(malformed(`can't be read as a form: ${messageOf(error)}`));
    const fileSize = env.maxFileBytes();
    const { parts: most, fieldBytes, headerPairs, headerBytes } = limits.form;
    try {
      const form = new Busboy({
        headers: { "content-type": contentType },
        isPartAFile: isPartAFile(known),
        preservePath: true,
        // The body is in memory: no part needs to wait. Busboy would wait for ever with one that has no headers.
        fileHwm: body.length + 1,
        limits: { parts: most, fieldSize: fieldBytes, headerPairs, headerSize: headerBytes, fileSize },
      });
      form.on("field", keep);
      form.on("file", (name, stream, filename, _encoding, mediaType) => {
        stream.once("error", unreadable);
        if (!known.has(name)) return void stream.resume();
        stream.once("limit", () => reject(payloadTooLarge(fileSize)));
        collect(stream, (content) => keep(name, uploadedFile(content, filename, mediaType)));
      });
      form.once("partsLimit", () => unreadable(`it has more than ${most} parts`));
      form.once("error", unreadable);
      form.once("finish", () => resolve(parts));
      form.end(body);
    } catch (error) {
      unreadable(error);
    }
  });

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

const uploadedFile = (content: Buffer, filename: string, mediaType: string): UploadedFile => ({
  // The same bytes as a plain Uint8Array: a Buffer would turn itself into JSON, number by number.
  content: new Uint8Array(content.buffer, content.byteOffset, content.length),
  sha256: createHash("sha256").update(content).digest("hex"),
  filename: cleanFilename(filename),
  contentType: cleanMediaType(mediaType),
});

/** A file that came in one piece is not copied. */
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
  const clean = [...base.replace(controls, "").trim()].slice(0, 255).join("");
  return /^\.{0,2}$/.test(clean) ? "attachment" : clean;
};

/** The media type of an uploaded file, or that of any bytes where it is not one that a header can carry. */
const cleanMediaType = (mediaType: string): string =>
  /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(mediaType) ? mediaType.toLowerCase() : "application/octet-stream";

/** An endpoint that takes a form with a file. */
export const uploadEndpoint = endpointReading(readForm, ["form"]);
